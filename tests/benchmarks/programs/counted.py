"""Run `optimize-eval ARGUMENT…`, then write what only it can know: python counted.py FILE ARGUMENT….

That is the CPU of its children in seconds, whose sum with its own whoever started us knows, and its peak in
bytes: what wait4 tells of that is never below the peak of the process that started us.
"""

import json
import re
import resource
import sys
from pathlib import Path

from optimize_eval.cli import main


def peak() -> int:
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: in bytes


if __name__ == "__main__":
    target = Path(sys.argv.pop(1))
    try:
        main()
    finally:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        target.write_text(json.dumps({"children": children.ru_utime + children.ru_stime, "peak": peak()}))
