"""Where things are: the checkout, the installed program, the programs that misbehave."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("optimize-eval")
PROGRAMS = ROOT / "tests" / "faults" / "programs"
EVALUATORS = ROOT / "evaluators"
PYTHON = f"{sys.executable} -S"  # for programs that need no packages: it starts in two thirds of the time
