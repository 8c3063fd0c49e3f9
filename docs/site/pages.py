"""Which files of the repository are the site: each has the path that it has here, so that links hold."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_ROOT = Path(__file__).resolve().parents[2]
_SHOWN = (
    "*.md",
    "docs/*.*",
    "docs/*/*.md",
    "docs/pictures/*.*",
    "evaluators/README.md",
    "datasets/README.md",
    "tests/tasks/worked/*.md",
)


def on_files(files: Files, config: Any) -> Files:
    """Take these files in place of a folder's; of the theme's own ones all stay."""
    names = [path.relative_to(_ROOT).as_posix() for shown in _SHOWN for path in sorted(_ROOT.glob(shown))]
    of_theme = [file for file in files if Path(file.abs_src_path or _ROOT).parent != Path(config.docs_dir)]
    return Files(
        [*of_theme, *(File.generated(config, name, abs_src_path=str(_ROOT / name)) for name in names)]
    )
