#!/bin/sh
echo '{"score": 0.5}'
