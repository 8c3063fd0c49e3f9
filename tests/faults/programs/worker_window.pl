#!/usr/bin/env perl
# A good worker with a window of four: answers in children, in whatever order they are ready.

$| = 1;
$SIG{CHLD} = "IGNORE";
while (<STDIN>) {
    next if fork;
    my $score = 1 / (1 + (/"candidate":"((?:[^"\\]|\\.)*)"/ ? length $1 : 0));
    my $id = /("_id":"[^"]*")/ ? ", $1" : "";
    print qq({"score": $score, "_capabilities": {"persistent": true, "concurrency": 4}$id}\n);
    exit;
}
wait;
