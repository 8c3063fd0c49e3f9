"""The files of YAML that pages on tasks in YAML write: the guide, and those worked by hand."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.paths import ROOT

PAGES = [ROOT / "docs" / "tasks.md", *sorted((ROOT / "tests/tasks/worked").glob("*.md"))]
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^cat > (\S+\.yaml) <<'EOF'\n(.*?)^EOF$", re.MULTILINE | re.DOTALL)


def written() -> Iterator[tuple[str, str, Any]]:
    """Find the files of YAML that pages write: name, commands of the page, and what it holds."""
    for page in PAGES:
        commands = "".join(_COMMANDS.findall(page.read_text(encoding="utf-8")))
        for name, text in _FILE.findall(commands):
            yield name, commands, read(text)


def read(text: str) -> Any:
    return yaml.safe_load(text.replace("!include ", ""))
