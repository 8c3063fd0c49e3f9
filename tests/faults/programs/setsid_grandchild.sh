#!/bin/sh
setsid sleep 600 &
wait
