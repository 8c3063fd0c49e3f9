#!/bin/sh
sleep 1
echo '{"score": 0.5}'
