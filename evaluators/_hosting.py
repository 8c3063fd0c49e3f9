"""How a program that reads lines is started in the sandbox beside this file, for whoever starts it.

    python _hosting.py LEVEL PROGRAM [FILE…]

writes one object of JSON: {"argv", "environment", "first", "takes_folder", "layers", "missing", "visible"},
or {"refused": "why"}. `first`, in base64, is what the program's stdin begins with; where it takes one, TMPDIR
and HOME are an empty folder of its own that whoever starts it makes and removes. It may read the FILEs beside
it and the packages of this interpreter; it has no environment, and a small folder to write to. It ends with
the thread that starts it; when else it ends is that one's business, and what it writes is hostile data.
"""

from __future__ import annotations

import base64
import json
import os
import site
import sys
import sysconfig
from math import inf
from pathlib import Path
from typing import Any

from _running import Refused
from _sandbox import Limits, Sandbox

_LIMITS = Limits(seconds=inf, memory=1 << 32, scratch=64 << 20, threads=1024)
_HOST = """
def main(enclosed, program, *packages):
    import runpy
    import site
    import sys

    for folder in packages:
        site.addsitedir(folder)
    sys.stdout.reconfigure(write_through=True)
    sys.argv = [program]
    runpy.run_path(program, run_name="__main__")
"""


def described(level: str, program: str, files: list[str]) -> dict[str, Any]:
    """Say how to start a program at a level."""
    packages = _packages()
    shown = tuple(dict.fromkeys(Path(path) for path in (*packages, program, *files)))
    try:
        sandbox = Sandbox(level, _LIMITS, shown=shown)
    except Refused as refused:
        return {"refused": str(refused)}
    how = sandbox.described([("host", compile(_HOST, "host", "exec"))], program, *packages)
    return {
        "argv": how.argv,
        "environment": how.environment,
        "first": base64.b64encode(how.first).decode(),
        "takes_folder": how.takes_folder,
        "layers": sandbox.layers,
        "missing": sandbox.missing,
        "visible": sandbox.visible,
    }


def _packages() -> list[str]:
    """List the folders of packages that this interpreter has."""
    own = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    found = dict.fromkeys([*own, *site.getsitepackages(), *user])
    return [folder for folder in found if os.access(folder, os.R_OK | os.X_OK)]


if __name__ == "__main__":
    _, wanted, hosted, *beside = sys.argv
    print(json.dumps(described(wanted, hosted, beside)))
