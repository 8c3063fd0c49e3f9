#!/usr/bin/env perl
# Declares to be persistent, but its answers stay in the buffer until it ends.

while (<STDIN>) {
    my $id = /"_id":("[^"]*")/ ? $1 : "null";
    print qq({"score": 0.5, "_id": $id, "_capabilities": {"persistent": true}}\n);
}
