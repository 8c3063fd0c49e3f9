#!/usr/bin/env perl
$| = 1;
while (<STDIN>) {
    my $score = 1 / (1 + (/"example".*"input": ?"((?:[^"\\]|\\.)*)"/ ? length $1 : 0));
    printf qq({"score": %s, "_id": %s, "_capabilities": {"persistent": true}}\n), $score, /"_id":("[^"]*")/ ? $1 : "null";
}
