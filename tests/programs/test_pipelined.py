"""What a slot is told that writes its line while another's answer breaks the program they share."""

import os
import time

import pytest

from optimize_eval.programs.process import Program, start_program
from optimize_eval.programs.worker import Window, WorkerBroken

NOISE = "read -r line; echo progress; read -r line"


def test_who_writes_to_a_program_that_just_broke_is_told_what_broke_it() -> None:
    environment = {b"PATH": os.environb[b"PATH"]}
    program = Program(argv=("sh", "-c", NOISE), executable="/bin/sh", cwd=None, environment=environment)
    window = Window(start_program(program, "tests", {}))
    deadline = time.monotonic() + 30

    def write_when_it_is_broken(_identity: str) -> bytes:
        with pytest.raises(WorkerBroken, match="progress"):
            window.call(lambda _other: b"{}\n", deadline)
        return b"{}\n"

    with pytest.raises(WorkerBroken, match="progress"):
        window.call(write_when_it_is_broken, deadline)
    window.close(deadline)
