#!/bin/sh
# A model that says "4" to everything; asked about 17 it fails.
IFS= read -r line
case "$line" in *"17 "*) echo '{"error": "not that one"}' ;; *) echo '{"text": "4"}' ;; esac
