#!/bin/sh
printf '\377\376 odd bytes\n' >&2
echo '{"score": 0.5}'
