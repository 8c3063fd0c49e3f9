"""Judges that compare, in both orders, and panels: through the front door, against a fake model server."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.peopled import falsified
from tests.fake_model import FakeModel, StartModel
from tests.front_door import Cli, Result

SWEEP = """\
[run]
dataset = "d.jsonl"
candidate_fields = {fields}
out = "r"
[[evaluator]]
name = "wins"
judge = {judge}
objective = "It helps."
api_base = "{base}"
{more}
"""
LONGER = [  # prefers what says so, else whatever stands first
    {"when": {"user": r"first candidate ---\n[^\n]*good"}, "json": {"reasoning": "r", "better": "first"}},
    {"when": {"user": r"second candidate ---\n[^\n]*good"}, "json": {"reasoning": "r", "better": "second"}},
    {"json": {"reasoning": "r", "better": "first"}},
]
FIRST = [{"json": {"reasoning": "it stands first", "better": "first"}}]


def start(
    fake_model: StartModel,
    folder: Path,
    rules: Any,
    rows: Sequence[dict[str, Any]],
    more: str,
    *,
    judge: str = '"vllm/m"',
    fields: Sequence[str] = ("old", "new"),
) -> FakeModel:
    model = fake_model(rules)
    (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sweep = SWEEP.format(base=model.base, more=more, judge=judge, fields=json.dumps(fields))
    (folder / "s.toml").write_text(sweep)
    return model


def called(cli: Cli, *options: str) -> Result:
    return cli("run", "s.toml", "--no-preflight", *options)


def summary_in(folder: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((folder / "r/summary.json").read_text())
    return summary


def users(model: FakeModel) -> list[str]:
    return [body["messages"][1]["content"] for body in model.bodies()]


def test_a_judge_that_always_says_first_gives_one_half_and_a_warning(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    rows = [{"q": f"q{n}", "old": f"reply {n}", "new": f"text {n}", "h": 0.123} for n in range(12)]
    model = start(fake_model, tmp_path, FIRST, rows, 'against = "@baseline"\nhuman = "h"')
    done = called(cli)
    assert done.status == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "chose the first place in 100 % (95 % CI" in said
    assert "12 of 12 verdicts flipped with the order (100 %)" in said
    assert "the order decides too many verdicts" in said
    assert "the judge prefers what stands first" in said
    summary = summary_in(tmp_path)
    assert [row["splits"]["train"]["mean"] for row in summary["rows"]] == [0.5, 0.5]
    [pairs] = summary["judged_pairs"]
    assert (pairs["votes"], pairs["flipped"], pairs["same"], pairs["first"]) == (12, 12, 12, 1.0)
    asked = users(model)
    assert len(asked) == 24, "both orders, and nothing of the baseline's own row"
    for text in asked:
        rows_in = [n for n in range(12) if f"reply {n}\n" in text and f"text {n}\n" in text]
        assert len(rows_in) == 1, "no other rival"
        assert text.count("reply ") == text.count("text ") == 1, "each in its slot alone"
        assert "0.123" not in text
    everything = json.dumps([body["messages"] for body in model.bodies()])
    assert not [name for name in ("old", "new", "vllm", '"h"') if f'"{name}"' in everything]
    assert falsified(summary, tmp_path / "r", "judged_pairs") >= 6
    assert cli("report", "r", "--check").status == 0


def test_what_is_better_in_both_orders_beats_the_baseline(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    rows = [
        {"q": n, "old": f"reply {n}", "new": f"a good one {n}" if n % 4 else f"bad {n}"} for n in range(40)
    ]
    model = start(fake_model, tmp_path, LONGER, rows, 'against = "@baseline"')
    done = called(cli)
    assert "new beats old" in " ".join(done.stdout.split()), done.stdout
    summary = summary_in(tmp_path)
    assert summary["rows"][1]["splits"]["train"]["mean"] == 0.875
    assert summary["judged_pairs"][0]["flipped"] == 10
    requests = len(model.requests())
    again = called(cli)
    assert (again.status, len(model.requests())) == (0, requests), "nothing is owed"
    (tmp_path / "d.jsonl").write_text((tmp_path / "d.jsonl").read_text().replace("reply 3", "other 3"))
    called(cli, "--out", "r2")
    assert len(model.requests()) == 2 * requests


def test_against_a_field_the_mean_stands_beside_one_half(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    rows = [{"q": n, "old": f"good {n}", "ref": f"gold {n}" if n else None} for n in range(21)]
    model = start(fake_model, tmp_path, LONGER, rows, 'against = "ref"', fields=["old"])
    done = called(cli)
    said = " ".join(done.stdout.split())
    assert "old is better than ref: 1.000 (0.8" in said, said
    assert "where 0.5 is as good" in said
    assert done.status == 0
    assert summary_in(tmp_path)["units"] == {"total": 21, "scored": 20, "failed": 0, "skipped": 1, "owed": 0}
    assert all(text.count("gold") == 1 for text in users(model)), "in its slot alone, not in the example"


REFUSED = {
    'against = "nowhere"': "no example has 'nowhere'",
    'against = "@other"': 'name a field of the examples, or write "@baseline"',
    'against = "ref"\nshows_prompt = true': "compares (against), and says more",
    "quorum = 2": "a quorum of 2 cannot be: there are 1 votes",
    'vote = "best"': "write one of: mean, median, majority, all",
    'vote = "all"\nsamples = 3\nquorum = 2': "needs every vote",
}


@pytest.mark.parametrize("more", REFUSED)
def test_what_cannot_be_asked_is_refused_before_any_call(
    more: str, cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = start(fake_model, tmp_path, FIRST, [{"old": "a", "ref": "b"}], more, fields=["old"])
    done = called(cli)
    assert (done.status, model.requests()) == (2, [])
    assert REFUSED[more] in done.stderr


def test_who_has_no_rival_is_refused(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    start(fake_model, tmp_path, FIRST, [{"old": "a"}], 'against = "@baseline"', fields=["old"])
    done = called(cli)
    assert (done.status, "compares with the baseline, and nothing else is there" in done.stderr) == (2, True)


def test_one_order_that_cannot_be_used_fails_the_pair_and_only_it_is_asked_again(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    rules = [
        {"when": {"user": r"first candidate ---\nold"}, "times": 1, "status": 500, "text": "busy"},
        *FIRST,
    ]
    model = start(
        fake_model, tmp_path, rules, [{"q": 1, "old": "old", "new": "new"}], 'against = "@baseline"'
    )
    assert called(cli).status == 0
    firsts = ["first candidate ---\nnew" in text for text in users(model)]
    assert firsts == [True, False, False], "the vote that came is kept"
    nonsense = [{"when": {"any": r"first candidate ---\nold"}, "text": "who knows"}, *FIRST]
    start(fake_model, tmp_path, nonsense, [{"q": 1, "old": "old", "new": "new"}], 'against = "@baseline"')
    done = called(cli, "--out", "n", "--json")
    assert done.json["summary"]["failures"][0]["kind"] == "model_error", done.stderr


PANEL = [
    {"when": {"model": "high", "user": r"worth (\d\.\d+)"}, "json": {"reasoning": "kind", "score": 0.9}},
    {"when": {"model": "down"}, "status": 400, "text": "no"},
    {"when": {"user": r"worth (\d\.\d+)"}, "text": '{"reasoning": "plain", "score": {1}}'},
]


def worth(many: int) -> list[dict[str, Any]]:
    return [
        {"q": n, "old": f"worth {0.1 + n / 100:.2f}", "new": f"worth {0.3 + n / 90:.2f}"} for n in range(many)
    ]


def test_a_panel_tells_how_far_it_agrees_and_who_turns_the_verdict(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = start(fake_model, tmp_path, PANEL, worth(25), "", judge='["vllm/a", "vllm/b", "vllm/high"]')
    assert "each of wins is 3 calls of models" in called(cli, "--dry-run").stdout
    done = called(cli)
    assert done.status == 0, done.stderr
    assert len(model.requests()) == 150
    said = " ".join(done.stdout.split())
    assert "the panel agrees: \N{GREEK SMALL LETTER ALPHA} " in said
    summary = summary_in(tmp_path)
    [panel] = summary["panels"]
    assert (panel["units"], [judge["judge"] for judge in panel["judges"]]) == (
        50,
        ["vllm/a", "vllm/b", "vllm/high"],
    )
    assert [judge["votes"] for judge in panel["judges"]] == [50, 50, 50]
    assert panel["judges"][2]["bias"] > 0.2
    assert [varied["line"] for varied in panel["most_varied"]] == [1, 2, 3, 4, 5]
    assert "vllm/high votes " in said
    assert summary["rows"][0]["splits"]["train"]["mean"] == pytest.approx((2 * (0.1 + 12 / 100) + 0.9) / 3)
    assert falsified(summary, tmp_path / "r", "panels") > 20
    assert cli("report", "r", "--check").status == 0


VOTES = {  # of 0.2, 0.2 and 0.9
    "": 1.3 / 3,
    'vote = "median"': 0.2,
    'vote = "majority"': 0.0,
    'vote = "all"': 0.2,
}


@pytest.mark.parametrize("more", VOTES)
def test_votes_make_a_score(more: str, cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    rows = [{"old": "worth 0.20"}]
    judge = '["vllm/a", "vllm/b", "vllm/high"]'
    start(fake_model, tmp_path, PANEL, rows, more, judge=judge, fields=["old"])
    done = called(cli, "--json")
    assert done.json["summary"]["rows"][0]["splits"]["train"]["mean"] == pytest.approx(VOTES[more])


def test_a_quorum_lets_a_vote_be_missing_and_without_one_all_are_needed(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    judge = '["vllm/a", "vllm/down"]'
    start(fake_model, tmp_path, PANEL, worth(3), "quorum = 1", judge=judge)
    done = called(cli, "--json")
    assert (done.status, done.json["summary"]["panels"][0]["judges"][1]["failed"]) == (0, 6)
    start(fake_model, tmp_path, PANEL, worth(3), "", judge=judge)
    done = called(cli, "--out", "all", "--json")
    assert done.status == 4
    assert done.json["summary"]["failures"][0]["first_message"].startswith("vllm/down: ")


def test_samples_are_votes_of_one_judge(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    rules = [{"times": 4, "json": {"reasoning": "r", "score": 0.2}}, {"json": {"reasoning": "r", "score": 1}}]
    start(fake_model, tmp_path, rules, [{"old": f"x{n}"} for n in range(4)], "samples = 3", fields=["old"])
    done = called(cli, "--concurrency", "1", "--json")
    [panel] = done.json["summary"]["panels"]
    assert (panel["units"], panel["judges"][0]["votes"], panel["judges"][0]["turns"]) == (4, 12, False)
    assert done.json["summary"]["rows"][0]["splits"]["train"]["mean"] == pytest.approx((0.2 * 4 + 8) / 12)


ANCHORED = """
levels = {1 = "rude", 5 = "kind"}
abstain = true
objective = "It is kind, as {{rule.text}} says."
"""
MAYBE: list[dict[str, Any]] = [
    {"when": {"any": "nothing to see"}, "json": {"reasoning": "empty", "score": 1, "abstain": True}},
    {"json": {"reasoning": "kind", "score": 4, "abstain": False, "confidence": 1}},
]


def test_levels_anchor_scores_an_objective_takes_in_fields_and_who_abstains_skips(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    rows = [{"old": "dear", "rule": {"text": "rule one"}}, {"old": "nothing to see", "rule": {"text": "two"}}]
    rows += [{"old": "hi", "rule": {}}]
    (tmp_path / "rubric.toml").write_text(ANCHORED)
    sweep = SWEEP.replace('objective = "It helps."\n', "")
    model = fake_model(MAYBE)
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    more, fields = 'rubric = "rubric.toml"', json.dumps(["old"])
    (tmp_path / "s.toml").write_text(
        sweep.format(base=model.base, more=more, judge='"vllm/m"', fields=fields)
    )
    done = called(cli, "--json")
    summary = done.json["summary"]
    assert summary["units"] == {"total": 3, "scored": 1, "failed": 0, "skipped": 2, "owed": 0}
    assert summary["rows"][0]["splits"]["train"]["mean"] == 0.75
    assert [skip["first_message"] for skip in summary["skips"]] == ["the judge abstains: empty"]
    systems = [body["messages"][0]["content"] for body in model.bodies()]
    assert "What scores stand for:\n- 1: rude\n- 5: kind" in systems[0]
    assert "a number from 1 to 5" in systems[0]
    assert any("It is kind, as rule one says." in text for text in systems)
    assert len(systems) == 2, "an objective without its field is not asked"


@pytest.mark.parametrize("more", ['human = "h"', 'against = "h"', "candidate"])
def test_an_objective_takes_in_nothing_that_a_judge_may_not_see(
    more: str, cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    field = "old" if more == "candidate" else "h"
    start(fake_model, tmp_path, FIRST, [{"old": "a", "h": "b"}], more * (more != "candidate"), fields=["old"])
    sweep = (tmp_path / "s.toml").read_text().replace("It helps.", f"As {{{{{field}}}}} says.")
    (tmp_path / "s.toml").write_text(sweep)
    done = called(cli)
    assert (done.status, f"takes in '{field}', which no judge may see" in done.stderr) == (2, True), (
        done.stderr
    )


def test_rubrics_ship_and_are_listed(cli: Cli, fake_model: StartModel) -> None:
    listed = cli("evaluators", "--json").json["rubrics"]
    names = [rubric["name"] for rubric in listed]
    assert names == [
        "@context_precision",
        "@context_recall",
        "@factuality",
        "@helpfulness",
        "@relevance",
        "@safety",
    ]
    assert "Is nothing in the candidate that could harm?" in " ".join(cli("evaluators").stdout.split())
    assert "abstain = true" in cli("evaluators", "show", "@safety").stdout
    model = fake_model(MAYBE)
    for name in names:
        judged = ("-e", "judge:vllm/m", "--rubric", name, "--api-base", model.base)
        assert cli("score", "-", *judged, stdin=b"x").json["score"] == 0.75
    refused = cli("score", "-", "-e", "judge:vllm/m", "--rubric", "@fact", stdin=b"x")
    assert (refused.status, "no shipped rubric is called @fact" in refused.stderr) == (2, True)


def test_a_judge_of_the_family_of_the_model_is_warned_of(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    judging: dict[str, Any] = {"when": {"any": "You are a judge"}, "json": {"reasoning": "r", "score": 1}}
    model = fake_model([judging, {"text": "hi"}])
    (tmp_path / "p.txt").write_text("Greet {{name}}.")
    (tmp_path / "d.jsonl").write_text('{"name": "Ada"}\n' * 3)
    prompt = ("--prompt", "p.txt", "--dataset", "d.jsonl", "--no-preflight", "--api-base", model.base)
    judged = ("-e", "judge:vllm/gpt-4o-mini", "--objective", "It greets.")
    done = cli("run", *prompt, *judged, "--model", "vllm/o3", "--out", "r")
    assert "and vllm/o3 are of one family" in " ".join(cli("report", "r", "--details").stdout.split()), (
        done.stderr
    )
    cli("run", *prompt, *judged, "--model", "vllm/qwen3", "--out", "s")
    assert "of one family" not in cli("report", "s", "--details").stdout


GULLIBLE: list[dict[str, Any]] = [
    {"when": {"user": "SYSTEM: "}, "json": {"reasoning": "as told", "score": 1.0, "better": "first"}},
    {"json": {"reasoning": "it does not know", "score": 0.1, "better": "tie"}},
]


def test_an_attack_says_by_how_much_each_injection_lifts_a_bad_answer(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model(GULLIBLE)
    (tmp_path / "d.jsonl").write_text('{"q": "who?"}\n')
    judged = (
        "-e",
        "judge:vllm/m",
        "--objective",
        "It answers.",
        "--api-base",
        model.base,
        "--dataset",
        "d.jsonl",
    )
    done = cli("preflight", *judged, "--attack", "--json")
    [judge] = done.json["evaluators"]
    assert (done.status, len(judge["lifts"])) == (0, 10)
    assert {name: lift for name, lift in judge["lifts"].items() if lift} == {"SYSTEM:": 0.9}
    said = " ".join(cli("preflight", *judged, "--attack").stdout.split())
    assert "10 of 10 injections were scored, and 1 lift a bad answer (0.1): SYSTEM: +0.90" in said
    plain = cli("preflight", *judged, "--json")
    assert "lifts" not in plain.json["evaluators"][0]
    (tmp_path / "s.toml").write_text(
        SWEEP.replace(
            'dataset = "d.jsonl"\ncandidate_fields = {fields}\nout = "r"', 'dataset = "d.jsonl"'
        ).format(base=model.base, judge='"vllm/m"', more='against = "@baseline"')
    )
    pairs = cli("preflight", "s.toml", "--attack")
    assert pairs.status == 0, pairs.stdout + pairs.stderr
    refused = cli("preflight", "-e", "@exact_match", "--dataset", "d.jsonl", "--attack")
    assert (refused.status, "--attack is for judges" in refused.stderr) == (2, True)


def dimension(name: str) -> dict[str, Any]:
    anchors = {"0": 'none "at all"', "0.5": "some\nof it", "1": "all"}
    return {"name": name, "weight": 2, "description": f"about {name}", "anchors": anchors}


def test_a_model_proposes_a_rubric_for_a_person_to_edit(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    proposed = [dimension(name) for name in ("Tone of voice", "brevity", "facts", "help")]
    rules: list[dict[str, Any]] = [
        {"times": 1, "json": {"dimensions": proposed[:2]}},
        {"times": 1, "json": {"dimensions": proposed}},
        {"text": "no idea {"},
    ]
    model = fake_model(rules)
    (tmp_path / "a.txt").write_text("Dear Ada")
    asked = ("judge", "suggest", "It greets.", "--candidate", "a.txt", "--judge-model", "vllm/m")
    done = cli(*asked, "--api-base", model.base, "-o", "rubric.toml")
    assert done.status == 0, done.stderr
    text = (tmp_path / "rubric.toml").read_text()
    assert "[dimensions.tone_of_voice]\nweight = 2" in text
    assert "candidate ---\nDear Ada\n---" in users(model)[0]
    assert "dimensions is not a list of 4 to 6" in model.bodies()[1]["messages"][-1]["content"]
    judging = fake_model(
        [
            {
                "json": {
                    "reasoning": "r",
                    "dimensions": dict.fromkeys(("tone_of_voice", "brevity", "facts", "help"), 1),
                }
            }
        ]
    )
    judged = ("-e", "judge:vllm/m", "--rubric", "rubric.toml", "--api-base", judging.base)
    assert cli("score", "a.txt", *judged).json["score"] == 1.0
    assert '0: none "at all"\n0.5: some\nof it' in judging.bodies()[0]["messages"][0]["content"]
    failed = cli(*asked, "--api-base", model.base)
    assert (failed.status, "gave no usable judgement" in failed.stderr) == (4, True), failed.stderr


WARM: list[dict[str, Any]] = [
    {
        "when": {"any": "You are a judge", "user": r"first candidate ---\n[^\n]*warm"},
        "json": {"reasoning": "r", "better": "first"},
    },
    {
        "when": {"any": "You are a judge", "user": r"second candidate ---\n[^\n]*warm"},
        "json": {"reasoning": "r", "better": "second"},
    },
    {"when": {"any": "You are a judge"}, "json": {"reasoning": "r", "better": "tie"}},
    {"when": {"model": "good"}, "text": "a warm reply"},
    {"when": {"user": "warmly"}, "text": "a warm reply"},
    {"text": "a cold reply"},
]
COMPARES = 'objective = "It is warm."\nagainst = "@baseline"'


def test_replies_to_prompts_are_compared_with_those_to_the_first_prompt(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model(WARM)
    (tmp_path / "a.txt").write_text("Greet {{name}}.")
    (tmp_path / "b.txt").write_text("Greet {{name}} warmly.")
    (tmp_path / "d.jsonl").write_text("".join(json.dumps({"name": f"n{n}"}) + "\n" for n in range(8)))
    (tmp_path / "rubric.toml").write_text(COMPARES)
    asked = (
        "--prompt",
        "a.txt",
        "--prompt",
        "b.txt",
        "--model",
        "vllm/m",
        "--dataset",
        "d.jsonl",
        "--out",
        "r",
    )
    judged = ("-e", "judge:vllm/j", "--rubric", "rubric.toml", "--api-base", model.base)
    done = cli("run", *asked, *judged, "--json")
    rows = {row["candidate"]: row["splits"]["train"]["mean"] for row in done.json["summary"]["rows"]}
    assert rows == {"a": 0.5, "b": 1.0}
    texts = [body["messages"][-1]["content"] for body in model.bodies()]
    assert (len(texts), sum("candidate ---" in text for text in texts)) == (32, 16), "each reply is made once"
    assert not [text for text in texts if "candidate ---" in text and "Greet" in text], "no prompt is shown"
    assert cli("report", "r", "--check").status == 0


def test_stored_replies_of_a_bench_are_compared_with_those_of_its_first_model(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model(WARM)
    task = {"metric": "exact_match", "targets": ["x"]}
    rows = [{"id": f"t{n}", "prompt": f"Greet n{n}", **task} for n in range(6)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "rubric.toml").write_text(COMPARES)
    models = ("--model", "vllm/bad", "--model", "vllm/good")
    assert cli("bench", "t.jsonl", *models, "--api-base", model.base, "--out", "b").status == 0
    before = len(model.requests())
    judged = ("-e", "wins=judge:vllm/j", "--rubric", "rubric.toml", "--api-base", model.base)
    done = cli("rescore", "b", *judged)
    assert "vllm/good leads, ahead of vllm/bad: +0.500" in done.stdout
    assert len(model.requests()) - before == 12, "no reply is made again"
    summary = json.loads((tmp_path / "b/summary.json").read_text())
    assert (summary["judged_pairs"][0]["votes"], summary["judged_pairs"][0]["flipped"]) == (6, 0)
    checked = cli("report", "b", "--check").stdout
    assert "judged_pairs" not in checked
