#!/bin/sh
python9.99 judge.py
