#!/usr/bin/env perl
# Takes so many seconds to start, and may be kept alive: then each answer comes at once.
$| = 1;
select undef, undef, undef, $ARGV[0];
while (<STDIN>) {
    printf qq({"score": 0.5, "_id": %s, "_capabilities": {"persistent": true}}\n), /"_id":("[^"]*")/ ? $1 : "null";
}
