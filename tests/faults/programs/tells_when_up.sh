#!/bin/sh
# Writes to the FIFO that it is given once it runs, then hangs with a child.
sleep 600 &
echo up > "$1"
wait
