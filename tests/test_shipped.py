"""What ships is found beside the checkout and in an installed wheel alike."""

import subprocess
import sys
import zipfile
from pathlib import Path

from optimize_eval import shipped
from tests.paths import ROOT

_WHERE = "from optimize_eval import shipped; print(shipped.metric_path('exact_match'))"


def test_in_a_checkout_it_stands_beside_the_package() -> None:
    assert shipped.path("evaluators/exact_match.py") == ROOT / "evaluators" / "exact_match.py"
    assert shipped.metric_path("exact_match") == ROOT / "evaluators" / "exact_match.py"


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
