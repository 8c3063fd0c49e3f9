#!/bin/sh
head -c 50000000 /dev/zero | tr '\0' x >&2
echo >&2
echo the last words >&2
exit 1
