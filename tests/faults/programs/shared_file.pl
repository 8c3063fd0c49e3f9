#!/usr/bin/env perl
# Passes its number through a file that all calls share.

my ($number) = <STDIN> =~ /"number": (\d+)/;
open my $shared, ">", $ARGV[0] or die;
print $shared $number;
close $shared;
select undef, undef, undef, 0.1;
open $shared, "<", $ARGV[0] or die;
print qq({"score": @{[<$shared> / 100]}}\n);
