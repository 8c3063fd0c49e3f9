#!/usr/bin/env perl
# Breaks on long candidates.

my ($candidate) = <STDIN> =~ /"candidate":"([^"]*)"/;
die "too long\n" if length $candidate >= 1000;
print qq({"score": 1}\n);
