#!/bin/sh
echo about to sleep >&2
exec sleep 600
