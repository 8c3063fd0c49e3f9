#!/bin/sh
# What every evaluator should be: reads its payload, answers once.
cat > /dev/null
echo '{"score": 0.5, "note": "fine"}'
