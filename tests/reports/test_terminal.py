"""A summary in a terminal: nothing wider than it, no number cut, nothing foreign that it would obey."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from unicodedata import category

import pytest

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.summary_shape import summary_from
from optimize_eval.findings.wording import number
from optimize_eval.reports.terminal import summary as terminal
from optimize_eval.reports.text import Screen
from tests.findings.made import (
    LEAD,
    Example,
    Fails,
    Made,
    No,
    Says,
    Summary,
    made,
    moved,
    noisy,
    on_val,
    points,
    row_of,
)
from tests.front_door import Cli
from tests.reports.looks import HOSTILE, REASON, VAL, WIDTHS, candidates, measured, rich


def huge() -> Made:
    cells = {
        "baseline": {"val": [1e100 * place for place in range(12)]},
        "huge": {"val": [1.5e100 * place for place in range(12)]},
        "negative": {"val": [-1234567.891 * place for place in range(12)]},
    }
    return made({LEAD: cells}, score_range=ScoreRange.ANY)


def grouped() -> Made:
    names = ["easy", "hard", "a group with a name that is longer than any column has room for", "候補"]
    labels = {
        "train": {"kind": [names[n % 4] for n in range(60)]},
        "val": {"kind": [names[n % 4] for n in range(40)]},
    }
    return made({LEAD: candidates("a", "b")}, groups=labels)


RUNS = {
    "rich": rich(),
    "huge": huge(),
    "grouped": grouped(),
    "incomplete": on_val(a=VAL, b=[No.OWED, Fails(message=REASON), *VAL[2:]]),
    "alone": on_val(a=VAL),
    "all failed": on_val(a=[Fails("score_out_of_range", REASON)] * 1500, b=[Fails("http_connect")] * 1500),
    "many kinds": on_val(a=VAL, b=[*(Fails(f"kind_{n}", REASON) for n in range(20)), *VAL[20:]]),
    "without examples": made({LEAD: {"a": {"single": [0.5]}, "b": {"single": [0.7]}}}),
    "task models": made({(LEAD, name): candidates("a", "b") for name in ("openai/gpt", "anthropic/claude")}),
    "forty": on_val(**{f"candidate-{n:03}": moved(VAL, n / 1000) for n in range(40)}),
}


class _Summaries(dict[str, Summary]):
    """Each is made when it is first looked at: every process that collects tests loads this file."""

    def __missing__(self, name: str) -> Summary:
        return self.setdefault(name, RUNS[name].summary())


SUMMARIES = _Summaries()


def shown(summary: Summary, width: int = 80, run: str = "runs/run-1f3a9c02") -> list[str]:
    return terminal.render(summary_from(summary), terminal.ShownRun(name=run), Screen(width)).split("\n")


def table(lines: Sequence[str], most: int = 100) -> tuple[str, str, list[str]]:
    """Find the first table by its rule: the titles, the rule, and the rows, at most so many."""
    start = next(place for place, line in enumerate(lines) if line and set(line) <= set(" ─-"))
    rows: list[str] = []
    for line in lines[start + 1 : start + 1 + most]:
        if measured(line) != measured(lines[start]):
            break
        rows.append(line)
    return lines[start - 1], lines[start], rows


def check_aligned(titles: str, rule: str, rows: Sequence[str]) -> None:
    """Check that all numbers of a column end where its title does, and blanks follow."""
    assert set(rule) <= {" ", "─", "-"}
    assert measured(titles) == measured(rule)
    ends = [match.end() for match in re.finditer(r"\S+(?: \S+)*", titles) if match.group() != "overfit?"][1:]
    for row in rows:
        cells = "".join(
            letter if measured(letter) == 1 else f"{letter}." for letter in row if measured(letter)
        )
        for end in ends:
            assert cells[end : end + 2].strip() == ""
        assert cells[ends[0] - 1] != " "


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", RUNS)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    wide = [line for line in shown(SUMMARIES[name], width) if measured(line) > width]
    assert [line for line in wide if "optimize-eval report" not in line] == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", RUNS)
def test_a_verdict_is_shown_word_for_word(name: str, width: int) -> None:
    summary = SUMMARIES[name]
    text = " ".join(" ".join(shown(summary, width)).split())
    for one in (f"{summary['verdict']['text']}.", *points(summary)):
        if max(map(len, one.split())) <= 20:
            assert " ".join(one.split()) in text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["rich", "huge", "grouped", "many kinds", "task models", "forty"])
def test_numbers_are_whole_and_in_columns(name: str, width: int) -> None:
    summary = SUMMARIES[name]
    titles, rule, rows = table(shown(summary, width), most=len(RUNS[name].layout.candidates))
    check_aligned(titles, rule, rows)
    means = [
        number(row["splits"][summary["decided_on"]]["mean"])
        for row in summary["rows"]
        if (row["evaluator"], row["task_model"]) == (LEAD, summary["rows"][0]["task_model"])
    ]
    assert rows
    assert all(any(f" {mean} " in row for mean in means) for row in rows)
    assert not any(re.search(r"\d…", row[9:]) for row in rows)


def test_wider_terminals_show_more_columns() -> None:
    found = {width: table(shown(SUMMARIES["rich"], width))[0].split() for width in WIDTHS}
    both = ["95", "%", "CI", "Δ", "val", "CI", "of", "Δ"]
    assert found[80] == ["candidate", "val", *both, "overfit?", "failed"]
    for title in ("(Holm)", "train", "gap"):
        assert title in found[120]
    for narrow, wide in pairwise(WIDTHS):
        assert set(found[narrow][1:]) <= set(found[wide])
    assert {"val", "CI", "failed"} <= set(found[40])


def test_rows_are_sorted_by_mean() -> None:
    _, _, rows = table(shown(SUMMARIES["rich"]))
    assert [row.split()[0] for row in rows] == ["v3-structured", "v4-verbose", "baseline", "v2-fewshot"]
    means = [float(row.split()[1]) for row in rows]
    assert means == sorted(means, reverse=True)


def test_a_row_has_what_its_titles_say() -> None:
    lines = shown(SUMMARIES["rich"])
    _, _, rows = table(lines)
    row = row_of(SUMMARIES["rich"], "v3-structured")
    low, high = row["vs_baseline"]["val"]["ci"]
    assert rows[0].split() == [
        "v3-structured",
        number(row["splits"]["val"]["mean"]),
        "\N{EN DASH}".join(f"{end:.2f}" for end in row["splits"]["val"]["ci"]),
        "▲",
        "+0.100",
        *(f"+{low:.3f}", "to", f"+{high:.3f}"),
        "kept",
        "0",
    ]
    assert "OVERFITS" in next(line for line in rows if "v2-fewshot" in line)
    assert next(line for line in rows if " baseline " in line).split()[3:] == ["baseline", "0"]
    assert next(line for line in rows if "v4-verbose" in line).endswith(" 3")


def test_a_lead_that_failures_may_have_made_is_a_hint_in_the_table_as_well() -> None:
    failed: list[Example] = [Fails()] * 5
    summary = on_val(a=[*VAL[5:], *failed], b=[*moved(VAL[5:], 0.1, sd=0.05), *failed]).summary()
    row = row_of(summary, "b")["vs_baseline"]["val"]
    assert (row["mark"], row["despite_failures"]) == ("better", "if_both_count_as_zero")
    _, _, rows = table(shown(summary))
    assert "△ +0.100" in rows[0]


def test_long_names_are_cut_and_numbers_are_not() -> None:
    names = [f"{letter}{'-very-long-name' * 13}" for letter in "abcd"]
    summary = rich(*names).summary()
    for width in WIDTHS:
        titles, rule, rows = table(shown(summary, width))
        check_aligned(titles, rule, rows)
        assert len(rows) == 4
        assert all(re.match(r" [abcd]-very\S*…  ", row) for row in rows)


@cache
def _with_names(text: str) -> Summary:
    names = ("baseline", f"2{text}"[:200], f"3{text}"[:200], f"4{text}"[:200])
    told = candidates(*names)
    return made({f"judge{text}"[:200]: told, f"second{text}"[:200]: told}).summary()


@cache
def _with_texts(text: str) -> Summary:
    side_info = {text: text, f"flag{text}": True, "n": {text: 5}, "why": f"{REASON} {text}"}
    told: list[Example] = [Says(score, side_info) for score in VAL]
    failing: list[Example] = [Fails("exit_code", text), Fails("timeout", text), *told[2:]]
    return on_val(a=told, b=failing).summary()


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_are_inert(text: str, width: int) -> None:
    _check_inert(lines := shown(_with_names(text), width), width)
    titles, rule, rows = table(lines, most=4)
    check_aligned(titles, rule, rows)
    assert len(rows) == 4


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_inert(text: str, width: int) -> None:
    lines = shown(_with_texts(text), width)
    _check_inert(lines, width)
    assert len(lines) < 120
    _check_inert(shown(on_val(a=[Fails(message=text)] * 3).summary(), width), width)


def _check_inert(lines: Sequence[str], width: int) -> None:
    for line in lines:
        assert not {category(letter) for letter in line} & {"Cc", "Cf", "Zl", "Zp", "Cs"}
        assert measured(line) <= width or "optimize-eval report" in line


def test_many_candidates_are_shortened_and_the_baseline_stays() -> None:
    base = noisy(12, mean=0.2, sd=0.05)
    run = on_val(baseline=base, **{f"c{n:04}": moved(base, 0.1 + n / 2000, sd=0.01) for n in range(999)})
    summary = run.summary()
    for width in (40, 120):
        lines = shown(summary, width)
        titles, rule, rows = table(lines, most=31)
        check_aligned(titles, rule, rows)
        assert len(rows) == 31
        assert rows[0].startswith(" c09")
        assert rows[-1].startswith(" baseline ")
        assert any("969 more candidates" in line for line in lines)
        assert len(lines) < 70
        assert all(measured(line) <= width or "optimize-eval report" in line for line in lines)


def test_failures_have_their_count_kind_place_and_message() -> None:
    lines = shown(SUMMARIES["rich"])
    start = next(place for place, line in enumerate(lines) if line.startswith(" failures "))
    said = [line for line in lines[start:] if f"  {LEAD} · " in line]
    assert [line.removeprefix(" failures").strip().replace("× ", "") for line in said] == [
        "2 timeout  judge · v4-verbose · val 2: no answer within 10 s",
        "1 exit_code  judge · v4-verbose · val 1: KeyError: 'dims'",
    ]


def test_what_failed_alike_on_several_candidates_is_one_paragraph() -> None:
    fails: list[Example] = [Fails("not_found", "no program x"), *VAL[1:]]
    names = {f"c{n}": fails for n in range(5)}
    lines = shown(
        on_val(base=VAL, **names, other=[Fails("not_found", "no program y"), *VAL[1:]]).summary(), 120
    )
    start = next(place for place, line in enumerate(lines) if line.startswith(" failures "))
    assert [line[12:] for line in lines[start : start + 2]] == [
        "5 × not_found  judge · c0, c1, c2, 2 more · val 1: no program x",
        "1 × not_found  judge · other · val 1: no program y",
    ]


def test_the_worst_examples_of_the_best_candidate_are_shown_with_what_was_said() -> None:
    lines = shown(SUMMARIES["rich"], 120)
    worst = row_of(SUMMARIES["rich"], "v3-structured")["worst"]
    assert sum(line.startswith(" worst ") for line in lines) == 1
    before, after = number(worst[0]["baseline"]), number(worst[0]["score"])
    assert any(f" val {worst[0]['line']}  {before} → {after}  the answer names" in line for line in lines)


def test_side_information_is_told_of_both_splits() -> None:
    text = " ".join(" ".join(shown(SUMMARIES["rich"], 120)).split())
    found = text[text.index("side info") :]
    assert re.search(r"grounded \d+(\.\d)? % true \(train \d+(\.\d)? %\)", found)
    assert re.search(r"dims\.tone 0\.\d{3} \(train 0\.\d{3}\)", found)
    assert "verdict: good 40" in found


def test_next_steps_are_named() -> None:
    text = "\n".join(shown(SUMMARIES["rich"]))
    assert re.search(r"next +retry what failed +run the same command again", text)
    assert "optimize-eval report runs/run-1f3a9c02" in text
    assert re.search(r"resume +run the same command again", "\n".join(shown(SUMMARIES["incomplete"])))
    assert "retry" not in "\n".join(shown(SUMMARIES["alone"]))


@pytest.mark.parametrize("run", ["'runs/two  blanks'", f"runs/{'long' * 60}", "'候補 の'"])
def test_a_command_to_paste_is_whole(run: str) -> None:
    (found,) = (line for line in shown(SUMMARIES["alone"], 40, run) if "optimize-eval report" in line)
    assert found.endswith(f"optimize-eval report {run}")


def test_before_the_end_there_are_no_means() -> None:
    text = "\n".join(shown(SUMMARIES["incomplete"]))
    assert "candidate  " not in text
    assert number(row_of(SUMMARIES["incomplete"], "a")["splits"]["val"]["mean"]) not in text
    assert "so far" in text


def test_two_task_models_have_a_table_each() -> None:
    text = "\n".join(shown(SUMMARIES["task models"]))
    assert "judge with openai/gpt: val" in text
    assert "judge with anthropic/claude: val" in text


def report(cli: Cli, run: Made, tmp_path: Path, **env: str) -> str:
    done = cli("report", run.write(tmp_path / "run"), env={"COLUMNS": "80", **env})
    assert done.status == 0, done.stderr
    return done.stdout


def test_ascii_terminals_get_ascii_that_is_aligned(program: Cli, tmp_path: Path) -> None:
    text = report(program, rich(), tmp_path, PYTHONIOENCODING="ascii", COLUMNS="120")
    assert text.isascii()
    assert "\\u" not in text
    assert "\\x" not in text
    check_aligned(*table(text.splitlines()))
    lines = [line for line in text.splitlines() if "optimize-eval report" not in line]
    assert all(len(line) <= 120 for line in lines)


def test_in_ascii_names_of_other_alphabets_keep_tables_aligned(program: Cli, tmp_path: Path) -> None:
    names = ("baseline", "候補の二", "été", "🦊")
    text = report(program, rich(*names), tmp_path, PYTHONIOENCODING="ascii")
    titles, rule, rows = table(text.splitlines())
    check_aligned(titles, rule, rows)
    assert len(rows) == 4


def test_in_ascii_a_hint_is_not_shown_as_better(program: Cli, tmp_path: Path) -> None:
    equals = {f"c{n}": moved(VAL, 0.0, sd=0.1, seed=n) for n in range(9)}
    run = on_val(a=VAL, hint=moved(VAL, 0.04, sd=0.1), better=moved(VAL, 0.1, sd=0.05), **equals)
    marks = {name: row_of(run.summary(), name)["vs_baseline"]["val"]["mark"] for name in ("hint", "better")}
    assert marks == {"hint": "hint_better", "better": "better"}
    _, _, rows = table(report(program, run, tmp_path, PYTHONIOENCODING="ascii").splitlines())
    hint, better = (next(row.split()[3] for row in rows if row.split()[0] == name) for name in marks)
    assert hint != better


def test_under_ci_log_commands_are_defused_and_tables_aligned(cli: Cli, tmp_path: Path) -> None:
    names = ("baseline", "::error::one", "##[error]two", "a::b")
    text = report(cli, rich(*names), tmp_path, CI="true")
    assert "::" not in text
    assert "##[" not in text
    assert all(measured(line) <= 80 or "report" in line for line in text.splitlines())
    titles, rule, rows = table(text.splitlines())
    check_aligned(titles, rule, rows)
    assert len(rows) == 4


def test_no_order_of_hashes_changes_a_letter(program: Cli, tmp_path: Path) -> None:
    folder = rich().write(tmp_path / "run")
    texts = {
        program("report", folder, env={"COLUMNS": "100", "PYTHONHASHSEED": seed}).stdout for seed in "12"
    }
    assert len(texts) == 1
