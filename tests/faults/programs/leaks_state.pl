#!/usr/bin/env perl
# Declares to be persistent, but its answer depends on how often it was asked.

$| = 1;
my $asked = 0;
while (<STDIN>) {
    my $id = /"_id":("[^"]*")/ ? $1 : "null";
    print qq({"score": @{[$asked++ / 100]}, "_id": $id, "_capabilities": {"persistent": true}}\n);
}
