#!/bin/sh
exec 0<&-
sleep 0.1
echo '{"score": 0.5}'
