#!/bin/sh
# Leaves a child in a session of its own, and waits until it is there.
up=$(mktemp -u)
mkfifo "$up"
setsid sh -c 'echo up > "$1"; exec sleep 600' sh "$up" > /dev/null 2>&1 < /dev/null &
read -r _ < "$up"
rm "$up"
echo '{"score": 0.5}'
