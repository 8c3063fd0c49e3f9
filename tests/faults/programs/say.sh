#!/bin/sh
# Answers with the file it is given, byte for byte.
cat > /dev/null
exec cat "$1"
