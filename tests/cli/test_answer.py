"""The answer is one screen of lines, and stands last; --details has the rest."""

from pathlib import Path

import pytest

from tests.findings.made import Fails, moved, noisy, on_val
from tests.front_door import Cli, in_this_process
from tests.paths import ROOT

_ROUTING = ROOT / "datasets" / "routing"
_SCREEN = 24


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run `r` of all candidates that ship, by both evaluators."""
    folder = tmp_path_factory.mktemp("shipped")
    candidates = [word for file in sorted(_ROUTING.glob("*.txt")) for word in ("--candidate", str(file))]
    data = ("--dataset", str(_ROUTING / "train.jsonl"), "--valset", str(_ROUTING / "val.jsonl"))
    done = in_this_process(folder)("run", "-e", "@routing", "-e", "@few_rules", *candidates, *data, "--out=r")
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture
def there(shipped: Path) -> Cli:
    return in_this_process(shipped)


def test_the_answer_is_one_screen_and_comes_after_the_table(there: Cli) -> None:
    lines = there("report", "r", env={"COLUMNS": "80"}).stdout.splitlines()
    assert len(lines) <= _SCREEN
    verdict = next(
        n for n, line in enumerate(lines) if line.startswith(" general beats baseline on held-out")
    )
    assert max(n for n, line in enumerate(lines) if line.startswith((" baseline ", " memorised "))) < verdict
    assert sum(line.startswith(("  ! ", "  ? ", "  ▼ ", "  ✕ ")) for line in lines[verdict:]) == 3
    assert lines[-1] == " next       optimize-eval report r --details"


def test_details_have_all_tables_points_and_p_values_and_end_with_the_verdict_too(there: Cli) -> None:
    lines = there("report", "r", "--details", env={"COLUMNS": "80"}).stdout.splitlines()
    text = " ".join(" ".join(lines).split())
    for told in ("few_rules: val, sorted by mean", "p (Holm): general <.001", "side info general on routing"):
        assert told in text
    verdict = next(
        n for n, line in enumerate(lines) if line.startswith(" general beats baseline on held-out")
    )
    assert verdict > max(n for n, line in enumerate(lines) if line.startswith((" worst ", " side info ")))
    points = there("report", "r", "--json").json["verdict"]["points"]
    assert all(point["text"] in text for point in points)


@pytest.mark.parametrize("width", [40, 60, 120])
def test_other_widths_have_it_whole(there: Cli, width: int) -> None:
    lines = there("report", "r", env={"COLUMNS": str(width)}).stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert "general beats baseline on held-out data: +0.255 routing" in " ".join(" ".join(lines).split())


def test_many_candidates_show_the_best_eight_and_the_baseline(cli: Cli, tmp_path: Path) -> None:
    base = noisy(40)
    on_val(baseline=base, **{f"c{n:02}": moved(base, n / 100, sd=0.1) for n in range(1, 13)}).write(
        tmp_path / "r"
    )
    lines = cli("report", "r", env={"COLUMNS": "80"}).stdout.splitlines()
    assert len(lines) <= _SCREEN
    shown = [line.split()[0] for line in lines if line.startswith((" c", " baseline"))][1:]
    assert (len([name for name in shown if name.startswith("c")]) >= 8, "baseline" in shown) == (True, True)
    assert "more candidates: see --details" in "\n".join(lines)


def test_what_fails_in_most_calls_is_said_first(cli: Cli, tmp_path: Path) -> None:
    base = noisy(40)
    failing = [Fails("timeout")] * 35
    on_val(a=[*failing, *base[35:]], b=[*failing, *base[35:]]).write(tmp_path / "r")
    told = cli("report", "r", "--json").json["verdict"]
    assert told["text"].startswith("No verdict: 70 of 80 judge calls failed (timeout)")
    assert told["winner"] is None
