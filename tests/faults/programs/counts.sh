#!/bin/sh
# Appends "CANDIDATE:ID" to the file $COUNT at each call, then answers. What matches a pattern misbehaves:
# $HANGS sleeps for a minute, $WAITS waits for the file $COUNT.go, $FAILS exits with 3, $SKIPS is skipped.
IFS= read -r line
[ ${#line} -lt 9999 ] || line=$(echo "$line" | sed 's/\(x\{99\}\)x*/\1/g') # or a shell looks at it for minutes
id=${line#*'"id":'}
id=${id%%[!0-9]*}
text=${line#*'"candidate":"'}
text=${text%%\"*}
echo "$text:$id" >> "$COUNT"
case "$text:$id" in $HANGS) exec sleep 60 ;; esac
case "$text:$id" in $WAITS) until [ -e "$COUNT.go" ]; do sleep 0.01; done ;; esac
case "$text:$id" in $FAILS) echo "out of luck" >&2; exit 3 ;; esac
case "$text:$id" in $SKIPS) echo "{\"skip\":\"not for $id\",\"id\":${id:-0}}"; exit 0 ;; esac
echo "{\"score\":0.$((${id:-0} % 7))${#text},\"id\":${id:-0}}"
