#!/usr/bin/env perl
# One program that can be reached in every way: $HOW is what it declares, and it takes batches.

$| = 1;
my $capabilities = ($ENV{HOW} // "{}") eq "{}" ? "" : qq(, "_capabilities": $ENV{HOW});

sub judged {
    my ($letters, $number) = @_;
    return qq("error": "no score for $number") if $number % 13 == 5;
    return qq("skip": "not for $number", "lang": "en") if $number == 8;
    return qq("score": 1.5, "why": "too good") if $number == 9;
    return qq("score": @{[$number % 7 / 10 + $letters / 100]}, "id": $number);
}

while (<STDIN>) {
    my ($candidate) = /"candidate":"([^"]*)"/;
    my @found = map { judged(length $candidate, $_) } /"id": ?(\d+)/g;
    my $said = /"examples":/ ? '"results": [' . join(", ", map { "{$_}" } @found) . "]" : $found[0] . $capabilities;
    print "{$said", /("_id":"[^"]*")/ ? ", $1" : "", "}\n";
}
