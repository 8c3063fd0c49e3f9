#!/bin/sh
echo 'Loading model...'
echo '{"score": 1}'
