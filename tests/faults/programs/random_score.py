#!/usr/bin/env python3
"""Scores by chance."""

import json, random

print(json.dumps({"score": random.random()}))
