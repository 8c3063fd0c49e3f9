#!/bin/sh
# Leaves a child, with a child, in a session of its own and without our environment; waits until it is there.
up=$(mktemp -u)
mkfifo "$up"
env -i OPTIMIZE_EVAL_TEST="$OPTIMIZE_EVAL_TEST" setsid sh -c 'sleep 600 & echo up > "$1"; wait' sh "$up" \
  > /dev/null 2>&1 < /dev/null &
read -r _ < "$up"
rm "$up"
echo '{"score": 1}'
