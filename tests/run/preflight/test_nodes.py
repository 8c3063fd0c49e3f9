"""Preflight of a cluster: what nodes say is held against what is known here; a folder stands for a node."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from optimize_eval.base.errors import CannotGoOn
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import Payload
from optimize_eval.cli.commands.preflight import render, to_dict
from optimize_eval.evaluators.kinds import parse_evaluator
from optimize_eval.run.preflight.examined import Examined, Material, live
from optimize_eval.run.preflight.nodes import (
    NodeExamined,
    NodeFindings,
    Said,
    compare,
    examine_nodes,
)
from tests.cluster.folders import FolderFleet
from tests.front_door import Cli
from tests.tools import write_program

_HALF = ["#!/bin/sh", 'read -r line; echo \'{"score": 0.5, "by": "one"}\'']
_PAYLOADS = tuple(Payload(candidate=text) for text in ("a", "b"))


def known_here(folder: Path, lines: Sequence[str] = _HALF, **settings: dict[str, str]) -> Examined:
    """Look at an evaluator in a folder of this machine, as far as nodes need it."""
    folder.mkdir()
    write_program(folder / "judge", lines)
    spec = parse_evaluator("./judge", EvaluatorSpec(cwd=str(folder), **settings))  # type: ignore[arg-type]
    material = Material(splits={"single": _PAYLOADS}, calls=2, slots=1)
    on = Examined(spec=spec, material=material, until=time.monotonic() + 10)
    with live(spec, persistent=False) as evaluator:
        on.one_by_one = on.ask_all(evaluator)[:2]
    return on


def examined_in(folder: Path, on: Examined, lost: str = "") -> dict[str, NodeExamined]:
    """Examine two nodes: one has the folder that is known here, the other this one."""
    fleet = FolderFleet({"same": Path(str(on.spec.cwd)), "other": folder}, lost)
    return {node.name: node for node in examine_nodes(fleet, str(on.spec.cwd), [on], patience=10)}


def statuses(node: NodeExamined) -> dict[str, str]:
    return {check.name: str(check.status) for check in node.checks}


def test_nodes_that_are_as_this_one_pass_with_the_time_of_a_call(tmp_path: Path) -> None:
    on = known_here(tmp_path / "here")
    node = examined_in(tmp_path / "here", on)["other"]
    assert statuses(node) == dict.fromkeys(["versions", "files", "judge answers", "judge time"], "pass")
    assert node.checks[2].message == "2 as here"
    assert node.checks[3].message.endswith("ms a call")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param(None, "judge of judge is missing or another one in ", id="no file"),
        pytest.param(
            ["#!/bin/sh", "echo '{\"score\": 1}'"], "judge of judge is missing or another", id="another"
        ),
    ],
)
def test_a_node_with_another_program_fails_before_any_call(
    lines: Sequence[str] | None, words: str, tmp_path: Path
) -> None:
    on = known_here(tmp_path / "here")
    there = tmp_path / "there"
    there.mkdir()
    if lines:
        write_program(there / "judge", lines)
    nodes = examined_in(there, on)
    assert [nodes[name].is_ok for name in ("same", "other")] == [True, False]
    (check,) = nodes["other"].checks
    assert words in check.message


def test_answers_that_depend_on_the_node_fail_and_its_side_info_warns(tmp_path: Path) -> None:
    by_folder = "read -r line; s=0.5; [ -e ../there/gpu ] || s=0.7; echo '{\"score\": '$s'}'"
    on = known_here(tmp_path / "here", ["#!/bin/sh", by_folder.replace("../there/gpu", "gpu")])
    there = tmp_path / "there"
    there.mkdir()
    (there / "judge").hardlink_to(tmp_path / "here" / "judge")
    (there / "gpu").touch()
    nodes = examined_in(there, on)
    assert nodes["other"].checks[2][1:3] == ("fail", "0.7 here is 0.5 there")
    assert nodes["same"].is_ok


def test_side_info_that_differs_from_node_to_node_is_a_warning(tmp_path: Path) -> None:
    says = """read -r line; printf '{"score": 1, "at": "%s"}' $(pwd)"""
    on = known_here(tmp_path / "here", ["#!/bin/sh", says])
    there = tmp_path / "there"
    there.mkdir()
    (there / "judge").hardlink_to(tmp_path / "here" / "judge")
    assert statuses(examined_in(there, on)["other"])["judge answers"] == "warn"


def test_a_variable_that_a_node_does_not_have_and_a_node_that_is_lost_fail_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTING_KEY", "very-secret-1")
    on = known_here(tmp_path / "here", environment={"KEY": "${ROUTING_KEY}"})
    assert (
        examined_in(tmp_path / "here", on, lost="other")["other"].checks[0].message == "it was lost: killed"
    )
    monkeypatch.delenv("ROUTING_KEY")
    (check,) = examined_in(tmp_path / "here", on)["other"].checks
    assert "ROUTING_KEY" in check.message
    assert "very-secret" not in check.message


def test_a_slow_node_is_told(tmp_path: Path) -> None:
    on = known_here(tmp_path / "here")
    took = {"a": 0.1, "b": 0.1, "c": 0.9}
    said = {
        name: NodeFindings(name=name, has_ended=True, answers={"judge": [Said("0.5", b"{}", seconds)]})
        for name, seconds in took.items()
    }
    last = [node.checks[-1] for node in compare([*said.values()], [on])]
    assert [str(check.status) for check in last] == ["pass", "pass", "warn"]
    assert last[2].message == "900 ms a call, 9 times as long as usual"


def test_a_cluster_without_nodes_is_refused(tmp_path: Path) -> None:
    on = known_here(tmp_path / "here")
    with pytest.raises(CannotGoOn, match="no node with processors"):
        examine_nodes(FolderFleet({}), str(on.spec.cwd), [on], patience=1)


def test_what_is_shown_of_many_nodes_is_those_that_failed_and_some_that_passed(tmp_path: Path) -> None:
    on = known_here(tmp_path / "here")
    said = [Said("0.5", b'{"by":"one"}', 0.25)]
    nodes = [NodeFindings(name=f"10.0.0.{n}", has_ended=True, answers={"judge": said}) for n in range(20)]
    nodes[4].problem = "it was lost: killed"
    examined = compare(nodes, [on])
    lines = render([on], "no examples", width=80, nodes=examined).splitlines()
    assert lines[4] == " node          FAILED  0.25 s  10.0.0.4: node: it was lost: killed"
    assert " node          ok      0.25 s  10.0.0.0: passed: versions, files, judge answers" in lines
    assert "                               11 more passed, too" in lines
    assert lines[-1] == " 1 of 20 nodes failed; nothing was run."
    assert len(to_dict([on], examined)["nodes"]) == 20


def test_an_engine_without_an_address_is_refused_before_any_call(cli: Cli, tmp_path: Path) -> None:
    write_program(tmp_path / "judge", ["#!/bin/sh", "echo >> called"])
    refused = cli("preflight", "-e", "./judge", "--engine", "ray")
    assert (refused.status, "give --address HOST:PORT" in refused.stderr) == (2, True)
    assert not (tmp_path / "called").exists()
