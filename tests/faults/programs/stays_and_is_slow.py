#!/usr/bin/env python3
import sys, time

for line in sys.stdin:
    time.sleep(float(sys.argv[1]))
    print('{"score": 0.5, "_capabilities": {"persistent": true}}', flush=True)
