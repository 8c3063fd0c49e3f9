#!/bin/sh
# Seen as a descendant, although neither its group nor its environment tells.
env -i OPTIMIZE_EVAL_TEST="$OPTIMIZE_EVAL_TEST" setsid sleep 600 &
wait
