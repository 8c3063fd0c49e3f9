#!/usr/bin/env perl
# Skips every third example; `alive` is kept alive, `batch` takes batches too, without a word it does neither.

$| = 1;
my %size = (alive => 1, batch => 4);
my $capabilities = @ARGV ? qq(, "_capabilities": {"persistent": true, "batch": $size{$ARGV[0]}}) : "";

sub judged {
    my ($number) = @_;
    return ($number % 3 ? qq("score": @{[$number / 100]}) : qq("skip": "$number is no prime", "lang": "en")) . $capabilities;
}

while (<STDIN>) {
    my @found = map { judged($_) } /"id": ?(\d+)/g;
    my $said = /"examples":/ ? '"results": [' . join(", ", map { "{$_}" } @found) . "]" : $found[0];
    print "{$said", /("_id":"[^"]*")/ ? ", $1" : "", "}\n";
}
