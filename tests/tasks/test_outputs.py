"""outputs.jsonl: what is kept is found again, after any kill; what was changed is refused."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import orjson
import pytest

from optimize_eval.base.errors import CannotGoOn, EvaluationError, UsageError
from optimize_eval.base.evaluator import Opened
from optimize_eval.models.model_kinds import ModelSpec, connect_model
from optimize_eval.models.outputs import Outputs, key_of, outputs_at
from optimize_eval.models.under_test import Output, Prompt
from optimize_eval.store.journal import Damaged, seal

ODD = 'a "b"\n\u2028 zoë 🙂 \x00'


def keep(outputs: Outputs, number: int, text: str = "") -> bytes:
    prompt = Prompt(text=f"p{number}", id=f"q{number}")
    key = key_of("m", prompt)
    outputs.keep(key, "model", prompt, Output(text=text or f"said {number}", side={"tokens": 2**70}))
    return key


def found(path: Path, keys: list[bytes]) -> list[str | None]:
    outputs = Outputs(path)
    try:
        return [output.text if (output := outputs.find(key)) else None for key in keys]
    finally:
        outputs.close()


def test_what_is_kept_is_found_again_whole(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    outputs = Outputs(path)
    assert not path.exists()
    keys = [keep(outputs, 1), keep(outputs, 2, ODD), keep(outputs, 3, "x" * 100_000)]
    assert keep(outputs, 1, "another") == keys[0]
    output = outputs.find(keys[1])
    assert output is not None
    assert (output.text, list(output.side)) == (ODD, ["tokens"])
    outputs.close()
    assert outputs.find(keys[1]) is None
    with pytest.raises(EvaluationError):
        keep(outputs, 4)
    assert found(path, keys) == ["said 1", ODD, "x" * 100_000]
    assert path.read_bytes().count(b"\n") == 4


def test_an_output_belongs_to_its_model_prompt_id_and_repeat() -> None:
    one = Prompt(text="p", id="q")
    others = [Prompt(text="p", id="r"), Prompt(text="o", id="q"), Prompt(text="p", id="q", repeat=2)]
    keys = {key_of("m", one), key_of("n", one), *(key_of("m", other) for other in others)}
    assert len(keys) == 5
    assert key_of("m", Prompt(text="p", id="q")) in keys


def test_a_kill_at_any_byte_of_the_last_line_loses_at_most_that_line(tmp_path: Path) -> None:
    whole = tmp_path / "outputs.jsonl"
    outputs = Outputs(whole)
    keys = [keep(outputs, 1), keep(outputs, 2, ODD)]
    outputs.close()
    data = whole.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    path = tmp_path / "torn.jsonl"
    for size in range(last, len(data) + 1):
        path.write_bytes(data[:size])
        assert found(path, keys) == ["said 1", ODD if size == len(data) else None]
        again = Outputs(path)
        keep(again, 2, ODD)
        again.close()
        assert path.read_bytes() == data


def test_a_kill_at_any_byte_of_the_first_line_is_a_new_beginning(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    outputs = Outputs(path)
    key = keep(outputs, 1)
    outputs.close()
    data = path.read_bytes()
    for size in range(data.index(b"\n") + 1):
        path.write_bytes(data[:size])
        again = Outputs(path)
        keep(again, 1)
        again.close()
        assert (path.read_bytes(), found(path, [key])) == (data, ["said 1"])


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_line_that_was_changed_is_refused_by_its_number(tmp_path: Path, line: int) -> None:
    path = tmp_path / "outputs.jsonl"
    outputs = Outputs(path)
    keep(outputs, 1)
    keep(outputs, 2)
    outputs.close()
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b"a", b"b").replace(b"p", b"q")
    path.write_bytes(b"".join(lines))
    with pytest.raises(Damaged, match=rf"outputs\.jsonl:{line}: "):
        found(path, [b"any"])


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text('{"id": "a", "output": "4"}\n')
    with pytest.raises(CannotGoOn):
        found(path, [b"any"])
    path.write_bytes(seal({"schema": "optimize-eval.outputs.v9"}))
    with pytest.raises(CannotGoOn, match=r"jsonl:1: its schema is 'optimize-eval\.outputs\.v9'"):
        found(path, [b"any"])
    path.unlink()
    path.mkdir()
    with pytest.raises(CannotGoOn, match="cannot be read"):
        found(path, [b"any"])


def test_a_file_that_changes_while_it_is_in_use_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    outputs = Outputs(path)
    key = keep(outputs, 1)
    path.write_bytes(path.read_bytes().replace(b"said", b"SAID"))
    with pytest.raises(Damaged, match="was changed"):
        outputs.find(key)
    outputs.close()


def test_many_threads_and_two_users_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    with Opened() as opened:
        outputs = outputs_at(path, opened)
        assert outputs_at(tmp_path / "." / "outputs.jsonl", opened) is outputs
        with ThreadPoolExecutor(8) as threads:
            keys = list(threads.map(partial(keep, outputs), range(200)))
    assert found(path, keys) == [f"said {number}" for number in range(200)]


def test_what_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "nowhere" / "outputs.jsonl")
    with pytest.raises(CannotGoOn, match="could not be written"):
        keep(outputs, 1)
    outputs.close()


def test_what_a_run_wrote_down_is_replayed_by_prompt_and_repeat(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    outputs = Outputs(path)
    for repeat in (1, 2):
        prompt = Prompt(text="p", id="q", repeat=repeat)
        outputs.keep(key_of("m", prompt), "cmd:a", prompt, Output(text=f"said {repeat}", side={"tokens": 1}))
    outputs.close()
    torn = path.read_bytes() + b'{"key":"12'
    path.write_bytes(torn)
    model = connect_model(ModelSpec(text=f"replay:{path}"))
    answers = [model.generate(Prompt(text="p", id="q", repeat=repeat), 0.0) for repeat in (1, 2)]
    assert [(one.text, dict(one.side)) for one in answers] == [
        ("said 1", {"tokens": 1}),
        ("said 2", {"tokens": 1}),
    ]
    with pytest.raises(EvaluationError, match="none to this prompt"):
        model.generate(Prompt(text="another", id="q"), 0.0)


def test_of_several_models_one_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    outputs = Outputs(path)
    for name in ("cmd:a", "cmd:b"):
        prompt = Prompt(text="p", id="q")
        outputs.keep(key_of(name, prompt), name, prompt, Output(text=name))
    outputs.close()
    with pytest.raises(UsageError, match="holds outputs of 2 models: cmd:a, cmd:b") as caught:
        connect_model(ModelSpec(text=f"replay:{path}"))
    assert f"replay:{path}#cmd:a" in caught.value.hint
    model = connect_model(ModelSpec(text=f"replay:{path}#cmd:b"))
    assert model.generate(Prompt(text="p", id="q"), 0.0).text == "cmd:b"
    with pytest.raises(UsageError, match="no outputs of 'x'"):
        connect_model(ModelSpec(text=f"replay:{path}#x"))
    records = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert [*records[1]] == ["key", "model", "id", "repeat", "prompt_sha256", "output", "crc"]
