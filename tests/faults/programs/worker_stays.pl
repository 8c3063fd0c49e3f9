#!/usr/bin/env perl
# A good worker that does not end when its stdin does, nor by SIGTERM.

$| = 1;
$SIG{TERM} = "IGNORE";
while (<STDIN>) {
    my $id = /("_id":"[^"]*")/ ? ", $1" : "";
    print qq({"score": 0.5, "_capabilities": {"persistent": true}$id}\n);
    exit unless $id;
}
sleep 600;
