"""What ships is found beside the checkout and in an installed wheel alike."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from optimize_eval.base import shipped
from tests.paths import ROOT
from tests.tools import need

_WHERE = "from optimize_eval.base import shipped; print(shipped.metric_path('exact_match'))"


def test_in_a_checkout_it_stands_beside_the_package() -> None:
    assert shipped.path("evaluators/exact_match.py") == ROOT / "evaluators" / "exact_match.py"
    assert shipped.metric_path("exact_match") == ROOT / "evaluators" / "exact_match.py"


def test_the_summary_of_a_program_is_its_first_sentence(tmp_path: Path) -> None:
    for words in (
        '"""Title: 1 when so, else 0."""',
        '"""Title: 1 when so, else 0. Or so."""',
        "# 1 when so, else 0.",
    ):
        program = tmp_path / "metric.py"
        program.write_text(f"#!/usr/bin/env python3\n{words}\n\nimport sys\n")
        assert shipped.summary_of(program) == "1 when so, else 0."


def test_a_wheel_carries_it_and_claims_no_other_top_level_name(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"optimize_eval"}
    # -P and the path in front: the wheel's package, not the checkout's
    code = f"import sys; sys.path.insert(0, {str(site)!r}); {_WHERE}"
    found = subprocess.check_output([sys.executable, "-P", "-c", code], cwd=tmp_path, text=True).strip()
    assert found == str(site / "optimize_eval" / "_shipped" / "evaluators" / "exact_match.py")
    assert Path(found).with_name("_metric.py").exists()
    assert not Path(found).with_name("__pycache__").exists()
    assert (site / "optimize_eval" / "schema" / "answer.schema.json").exists()
    assert (site / "optimize_eval" / "py.typed").exists()


def test_what_a_program_cannot_run_without_is_found() -> None:
    assert shipped.shared_by(shipped.metric_path("f1")) == (ROOT / "evaluators" / "_metric.py",)
    assert shipped.shared_by(shipped.metric_path("routing")) == ()
    assert shipped.shared_by(shipped.metric_path("few_rules")) == ()
    names = [file.name for file in shipped.shared_by(shipped.metric_path("code_exec"))]
    assert sorted(names) == [
        "_code_cases.py",
        "_code_inside.py",
        "_code_line.py",
        "_enclosed.py",
        "_layers.py",
        "_metric.py",
        "_running.py",
        "_sandbox.py",
        "_seccomp.py",
    ]


@need("git")
def test_what_git_does_not_track_is_packed_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "dirty"
    ours = ["pyproject.toml", "README.md", "LICENSE", ".ci/packed.py", ".gitignore", "datasets/greeting.txt"]
    ours += ["optimize_eval/__init__.py", "optimize_eval/base/shipped.py", "evaluators/exact.py"]
    for name in ours:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    (tmp_path / "key").write_text("secret")
    for name in (".env", "evaluators/.env", "optimize_eval/mine.py", "runs/r/journal.jsonl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")
    (folder / "evaluators" / "key.py").symlink_to(tmp_path / "key")
    (folder / "datasets" / "all").symlink_to(tmp_path)
    (folder / "datasets" / "greeting.txt").unlink()
    (folder / "datasets" / "greeting.txt").symlink_to(tmp_path / "key")

    ours.remove("datasets/greeting.txt")
    packed, wheel = _built(folder, tmp_path / "built")
    assert packed == {*ours, "PKG-INFO"}
    assert wheel == {
        "optimize_eval/__init__.py",
        "optimize_eval/base/shipped.py",
        "optimize_eval/_shipped/evaluators/exact.py",
    }
    (unpacked,) = (tmp_path / "built").glob("*/")
    (unpacked / "evaluators" / ".env").write_text("secret")
    (unpacked / "evaluators" / "key.py").symlink_to(tmp_path / "key")
    assert _built(unpacked, tmp_path / "again")[1] == wheel


def _built(folder: Path, target: Path) -> tuple[set[str], set[str]]:
    """Build both as an installer does, and name what they hold; the sdist is left unpacked."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", target],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (sdist,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    shutil.unpack_archive(sdist, target)
    (unpacked,) = target.glob("*/")
    found = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        return found, {name for name in archive.namelist() if ".dist-info/" not in name}
