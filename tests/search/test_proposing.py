"""What proposers are sent, who may propose, and what of that is used."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.models.chat import ChatSpec
from optimize_eval.search.components import components_as_text, of_json, plain
from optimize_eval.search.goal import make_goal
from optimize_eval.search.panel import Refusal, Screen
from optimize_eval.search.proposals import FIELD, PROMPT, Proposal, ProposalRequest, fit_records, teaching
from optimize_eval.search.proposers import (
    ProposerSpec,
    connect_proposer,
    parse_proposer,
    plain_proposer,
    reflection_proposer,
)
from optimize_eval.search.reflection import between_fences, prompt_of
from tests.fake_model import StartModel
from tests.faults.servers import served
from tests.json_values import OBJECTS
from tests.search.searches import failed, scored

ONE = make_goal(["e0"], [ScoreRange.UNIT])
TWO = make_goal(["e0", "e1"], [ScoreRange.UNIT] * 2)
REQUEST = ProposalRequest(
    texts=plain("be brief"), objective="brevity", records=[{"score": 0.5, "side_info": {}}]
)


def ask(spec: ProposerSpec, request: ProposalRequest = REQUEST, seconds: float = 30) -> Proposal:
    proposer = connect_proposer(spec)
    try:
        return proposer.propose(request, time.monotonic() + seconds)
    finally:
        proposer.close()


def command(text: str, folder: Path, **changes: Any) -> ProposerSpec:
    return parse_proposer(text, EvaluatorSpec(cwd=str(folder), **changes))


def script(folder: Path, body: str) -> Path:
    path = folder / "propose.sh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_program_behind_a_url_proposes_too(tmp_path: Path) -> None:
    with served() as server:
        assert ask(command(f"{server.url}/proposes", tmp_path)).candidate == "briefer"
    assert json.loads(server.requests[0][2])["objective"] == "brevity"


def test_a_program_is_sent_one_line_and_replies_with_a_candidate(tmp_path: Path) -> None:
    script(tmp_path, """cat > asked; echo '{"candidate": "be briefer", "note": "cut a word"}'""")

    proposal = ask(command("./propose.sh", tmp_path))

    assert (proposal.candidate, proposal.note) == ("be briefer", "cut a word")
    assert (tmp_path / "asked").read_text().count("\n") == 1
    assert json.loads((tmp_path / "asked").read_text()) == {
        "_protocol_version": 2,
        "candidate": "be brief",
        "objective": "brevity",
        "records": [{"score": 0.5, "side_info": {}}],
    }


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("echo oops >&2; exit 3", FailureKind.EXIT_CODE, "exit"),
        ("echo no json", FailureKind.INVALID_JSON, "JSON"),
        ("true", FailureKind.NO_OUTPUT, "stdout"),
        ("""echo '{"text": "x"}'""", FailureKind.NO_OUTPUT, "no candidate"),
        ("""echo '{"error": "no idea"}'""", FailureKind.REPORTED, "no idea"),
        ("""echo '{"candidate": 7}'""", FailureKind.NO_OUTPUT, "no candidate"),
        ("sleep 60", FailureKind.TIMEOUT, "0.5 s"),
    ],
)
def test_a_program_that_fails_is_a_failure_by_its_kind(
    tmp_path: Path, body: str, kind: FailureKind, words: str
) -> None:
    script(tmp_path, body)
    seconds = 0.5 if kind is FailureKind.TIMEOUT else 30

    with pytest.raises(EvaluationError, match=words) as raised:
        ask(command("./propose.sh", tmp_path, timeout=seconds), seconds=seconds)

    assert raised.value.kind is kind


def test_a_program_may_be_kept_alive(tmp_path: Path) -> None:
    (tmp_path / "propose.py").write_text(
        "import json, sys\n"
        "for number, line in enumerate(sys.stdin, 1):\n"
        "    reply = {'candidate': str(number), '_id': json.loads(line).get('_id')}\n"
        "    print(json.dumps(reply | {'_capabilities': {'persistent': True}}), flush=True)\n"
    )
    proposer = connect_proposer(command("python3 propose.py", tmp_path))

    proposals = [proposer.propose(REQUEST, time.monotonic() + 30).candidate for _ in range(4)]
    proposer.close()

    assert proposals == ["1", "1", "2", "3"], "declared in the first reply, kept from then on"


@pytest.mark.parametrize(
    ("reply", "candidate"),
    [("x", "x"), ({"candidate": "x", "note": "n"}, "x"), ({"system": "x"}, {"system": "x"})],
)
def test_a_callable_may_return_a_text_an_object_or_several_texts(reply: Any, candidate: Any) -> None:
    assert ask(plain_proposer(lambda _: reply)).candidate == candidate


@pytest.mark.parametrize("reply", [None, 7, ["x"]])
def test_a_callable_that_returns_something_else_has_failed(reply: Any) -> None:
    with pytest.raises(EvaluationError, match="is a"):
        ask(plain_proposer(lambda _: reply))


def test_a_callable_that_raises_has_failed() -> None:
    with pytest.raises(EvaluationError, match="ZeroDivisionError"):
        ask(plain_proposer(lambda _: 1 / 0))


def test_a_model_writes_between_fences_and_one_that_was_cut_off_is_told(fake_model: StartModel) -> None:
    server = fake_model(
        [
            {"when": {"model": "^good$"}, "text": "I think:\n```text\nbe brief!\n```\nDone."},
            {"when": {"model": "^half$"}, "text": "```\nbe br", "finish_reason": "length"},
        ]
    )

    good, half = (
        ask(reflection_proposer(ChatSpec(name=f"openai/{name}", api_base=server.base)))
        for name in ("good", "half")
    )

    assert (good.candidate, good.is_cut_off) == ("be brief!", False)
    assert good.tokens
    assert (half.is_cut_off, half.unfenced, len(server.bodies())) == (True, 0, 2)
    prompt = server.bodies()[0]["messages"][0]["content"]
    assert "brevity" in prompt
    assert "score: 0.5" in prompt


SORRY = "I'm sorry, I can't help with that."
TWO_BLOCKS = "Either\n```\nthis\n```\nor\n```\nthat\n```\n"
AGAIN = "That cannot be used"


@pytest.mark.parametrize("first", [SORRY, TWO_BLOCKS, "be brief", "```\nno end"])
def test_a_reply_without_one_text_between_fences_is_asked_for_once_more(
    first: str, fake_model: StartModel
) -> None:
    server = fake_model(
        [
            {"when": {"user": AGAIN}, "text": "````\nbe brief:\n```\ncode\n```\n````"},
            {"text": first},
        ]
    )

    made = ask(reflection_proposer(ChatSpec(name="openai/m", api_base=server.base)))

    assert (made.candidate, made.unfenced) == ("be brief:\n```\ncode\n```", 1)
    asked, said, again = server.bodies()[1]["messages"]
    assert (asked["content"], said["content"]) == (server.bodies()[0]["messages"][0]["content"], first)
    assert "between ```` lines" in again["content"]
    screen = Screen({"candidate": "0"})
    assert screen.admit(made, {"candidate": "0"}) == {"candidate": made.candidate}
    assert screen.refused == {Refusal.UNFENCED: 1}


def test_a_refusal_never_becomes_a_candidate(fake_model: StartModel) -> None:
    server = fake_model([{"text": SORRY}])

    made = ask(reflection_proposer(ChatSpec(name="openai/m", api_base=server.base)))

    screen = Screen({"candidate": "0"})
    assert (made.candidate, len(server.bodies())) == ("", 2)
    assert screen.admit(made, {"candidate": "0"}) is Refusal.UNFENCED
    assert screen.refused == {Refusal.UNFENCED: 2}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("```\nUse this:\n```python\nx = 1\n```\nDone.\n```", "Use this:\n```python\nx = 1\n```\nDone."),
        ("`````md\na\n```\nb\n`````", "a\n```\nb"),
        ("Here: ```text\nBe brief.```", "Be brief."),
        (TWO_BLOCKS, None),
        ("```python\nx\n```\n```python\ny\n```", None),
    ],
)
def test_a_text_may_hold_blocks_and_two_texts_are_none(reply: str, text: str | None) -> None:
    assert between_fences(reply) == text


def test_a_prompt_names_the_component_to_change_and_shows_the_others() -> None:
    request = ProposalRequest(texts={"system": "be kind", "user": "hello"}, components=("user",))

    prompt = prompt_of(request)

    assert "Change only the text named user." in prompt
    assert "system:\n```\nbe kind\n```" in prompt


def test_an_evaluator_is_no_proposer() -> None:
    for text in ("@exact_match", "judge:openai/gpt-4o-mini"):
        with pytest.raises(UsageError, match="not a proposer"):
            parse_proposer(text, EvaluatorSpec())


def test_records_tell_scores_side_info_and_errors_by_evaluator() -> None:
    record = teaching((scored(0.25, why="late"), failed("broken")), TWO, {"id": 7})

    assert record == {
        "score": 0.25,
        "scores": {"e0": 0.25, "e1": None},
        "example": {"id": 7},
        "side_info": {"e0": {"why": "late"}},
        "error": "e1: reported: broken",
    }
    assert teaching((failed("broken"),), ONE, None) == {
        "score": None,
        "side_info": {},
        "error": "reported: broken",
    }


@settings(max_examples=25)
@given(st.lists(OBJECTS, max_size=4), st.integers(0, 3))
def test_records_of_anything_fit(values: list[dict[str, Any]], size: int) -> None:
    side = {f"long{number}": "é" * 10**size * 9 for number in range(10**size % 50)}
    records = [teaching((scored(0.5, **{"info": value, **side}),), ONE, value) for value in values]

    kept = fit_records(records)

    assert sum(len(json.dumps(record, ensure_ascii=False).encode()) for record in kept) <= 1.2 * PROMPT
    assert len(kept) <= len(records)


def test_a_long_field_is_cut_and_says_how_long_it_was() -> None:
    record = teaching((scored(0.5, log="x" * 10_000, short="y"),), ONE, {"text": "z" * 10_000})

    (kept,) = fit_records([record])

    assert kept["side_info"] == {"log": "x" * FIELD + "… (10,000 bytes)", "short": "y"}
    assert kept["example"]["text"].startswith("z" * FIELD + "…")


@pytest.mark.parametrize(
    ("candidate", "refusal"),
    [
        ("better", None),
        ("", Refusal.EMPTY),
        (" \n", Refusal.EMPTY),
        ("seed\n", Refusal.REPEATED),
        ("x" * 101, Refusal.TOO_LONG),
        ("a\0b", Refusal.HOSTILE),
        ("a\x1b[2Jb", Refusal.HOSTILE),
        ("a\u202eb", Refusal.HOSTILE),
        ("a\ud800b", Refusal.HOSTILE),
        ("tabs\tand\r\nlines — é 😀 العربية", None),
        ({"system": "x"}, Refusal.OTHER_FORM),
        ({7: "x"}, Refusal.OTHER_FORM),
    ],
)
def test_a_proposal_of_no_use_is_refused_by_name(candidate: Any, refusal: Refusal | None) -> None:
    screen = Screen(plain("seed"), 100)

    admitted = screen.admit(Proposal(candidate=candidate), plain("seed"))

    assert admitted == (refusal or plain(candidate))
    assert dict(screen.refused) == ({refusal: 1} if refusal else {})


def test_what_the_seed_has_a_proposal_may_have() -> None:
    screen = Screen(plain("a\x1bb"))

    assert screen.admit(Proposal(candidate="\x1b[1m"), plain("a\x1bb")) == plain("\x1b[1m")
    assert screen.admit(Proposal(candidate="x", is_cut_off=True), plain("")) is Refusal.CUT_OFF


def test_a_proposer_that_skips_has_not_failed() -> None:
    skipped = ask(plain_proposer(lambda _: {"skip": "no idea"}))

    assert (skipped.is_skip, skipped.note) == (True, "no idea")
    assert Screen(plain("seed")).admit(skipped, plain("seed")) is Refusal.SKIPPED


def test_components_may_be_proposed_in_part_but_not_invented() -> None:
    seed = of_json('{"system": "a", "user": "b"}', "seed.json")
    screen = Screen(seed)

    assert screen.admit(Proposal(candidate={"user": "c"}), seed) == {"system": "a", "user": "c"}
    for wrong in ({"other": "c"}, {}, {"user": 7}, "text"):
        assert screen.admit(Proposal(candidate=wrong), seed) is Refusal.OTHER_FORM
    assert components_as_text(seed) == '{"system":"a","user":"b"}'
    for text in ("[]", "{}", '{"a": 1}', '{"candidate": "a"}', "{"):
        with pytest.raises(UsageError, match="components"):
            of_json(text, "seed.json")


def test_gepa_is_imported_in_one_place_and_only_by_searches() -> None:
    root = Path(__file__).parents[2] / "optimize_eval"
    users = {
        str(path.relative_to(root).parent)
        for path in root.rglob("*.py")
        if "from gepa" in path.read_text() or "import gepa" in path.read_text()
    }

    assert users == {"search"}
