#!/usr/bin/env python3
raise KeyError("dims")
