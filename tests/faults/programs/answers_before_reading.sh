#!/bin/sh
echo '{"score": 0.5}'
exec cat > /dev/null
