#!/usr/bin/env perl
my ($number) = <STDIN> =~ /"candidate":"(\d+)"/;
die "crash on a seventh\n" if $number % 7 == 0;
print qq({"score": @{[$number / 100]}}\n);
