"""Starts 25 children that end at once, and never waits for one."""

import os

for _ in range(25):
    if os.fork() == 0:
        os._exit(0)
print('{"score": 0.5}')
