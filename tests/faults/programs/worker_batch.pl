#!/usr/bin/env perl
# Answers batches; its second argument is the trait of a batch that holds an example divisible by 5, or 5 itself where it hangs.

use strict;
use warnings;

$| = 1;
my ($mode, $trait) = @ARGV;
my $persistent = $mode eq "persistent" ? "true" : "false";

sub judged {
    my ($number, $size, $score) = @_;
    return $number == 3 ? '"error": "a three"' : qq("score": @{[$score // $number / 100]}, "number": $number, "size": $size);
}

sub results {
    my @numbers = @_;
    my @found   = map { "{" . judged($_, scalar @numbers) . "}" } @numbers;
    if (grep { $_ % 5 == 0 } @numbers) {
        return '"score": 1' if $trait eq "none";
        pop @found          if $trait eq "short";
        sleep 600           if $trait eq "hangs" && grep { $_ == 5 } @numbers;
        exit 1              if $trait eq "dies";
        @found = map { $numbers[$_] % 5 ? $found[$_] : '{"score": "1"}' } 0 .. $#found if $trait eq "bad-element";
    }
    return '"results": [' . join(", ", @found) . "]";
}

while (my $line = <STDIN>) {
    my @numbers = $line =~ /"number": (\d+)/g;
    my ($id) = $line =~ /("_id":"[^"]*")/;
    my $is_bad = $trait eq "bad-element" && $numbers[0] % 5 == 0;
    my $said =
        $line =~ /"examples":/
        ? results(@numbers)
        : judged($numbers[0], 1, $is_bad ? '"1"' : undef) . qq(, "_capabilities": {"persistent": $persistent, "batch": 4});
    print "{", join(", ", $said, $id // ()), "}\n";
}
