"""The files that docs/cluster.md gives for Slurm and for Kubernetes are what these two take."""

import copy
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.paths import ROOT
from tests.tools import need, write_program

SLURM, KUBERAY = ROOT / "docs" / "slurm.sh", ROOT / "docs" / "kuberay.yaml"

_QUANTITIES = {"requests": {"cpu": str, "memory": str}, "limits": {"memory": str}}
_VARIABLE = {"name": str, "value": str}
_POD: dict[str, Any] = {
    "spec": {
        "containers": [
            {
                "name": str,
                "image": str,
                "workingDir": str,
                "env": [_VARIABLE],
                "envFrom": [{"secretRef": {"name": str, "optional": bool}}],
                "resources": _QUANTITIES,
                "volumeMounts": [{"name": str, "mountPath": str}],
            }
        ],
        "volumes": [{"name": str, "persistentVolumeClaim": {"claimName": str}}],
    }
}
FIELDS = {  # of a kind, those that we use; checked against KubeRay's definition of version 1.7
    "RayCluster": {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": str},
        "spec": {
            "rayVersion": str,
            "authOptions": {"mode": "token"},
            "headGroupSpec": {"rayStartParams": {"num-cpus": str}, "template": _POD},
            "workerGroupSpecs": [
                {
                    "groupName": str,
                    "replicas": int,
                    "minReplicas": int,
                    "maxReplicas": int,
                    "rayStartParams": {},
                    "template": _POD,
                }
            ],
        },
    },
    "NetworkPolicy": {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": str},
        "spec": {
            "podSelector": {"matchLabels": {"ray.io/cluster": str}},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": {"matchLabels": {"ray.io/cluster": str}}}]}],
        },
    },
}
_OPTIONAL = {"workingDir", "env", "envFrom", "volumeMounts", "volumes", "optional"}


def wrong_in(value: Any, fields: Any, where: str = "") -> Iterator[str]:
    """List what is not as it should be: unknown and missing keys, and other values than these."""
    match fields:
        case dict():
            keys = {*value} if isinstance(value, dict) else {"no table"}
            yield from (f"{where}.{key}: unknown" for key in sorted(keys - {*fields}))
            yield from (f"{where}.{key}: missing" for key in sorted({*fields} - keys - _OPTIONAL))
            for key in {*fields} & keys:
                yield from wrong_in(value[key], fields[key], f"{where}.{key}")
        case [entry]:
            for index, item in enumerate(value if isinstance(value, list) and value else [value]):
                yield from wrong_in(item, entry, f"{where}[{index}]")
        case type():
            if type(value) is not fields:
                yield f"{where}: {value!r} is no {fields.__name__}"
        case _:
            if value != fields:
                yield f"{where}: {value!r} is not {fields!r}"


def manifests() -> list[dict[str, Any]]:
    return [*yaml.safe_load_all(KUBERAY.read_text(encoding="utf-8"))]


def test_the_manifest_has_the_fields_that_kuberay_and_kubernetes_know() -> None:
    kinds = [manifest["kind"] for manifest in manifests()]
    assert kinds == [*FIELDS]
    assert [wrong for manifest in manifests() for wrong in wrong_in(manifest, FIELDS[manifest["kind"]])] == []


@pytest.mark.parametrize(
    ("path", "value", "wrong"),
    [
        (("spec", "rayVersion"), 2.6, ".spec.rayVersion: 2.6 is no str"),
        (("spec", "authOptions", "mode"), "disabled", ".spec.authOptions.mode: 'disabled' is not 'token'"),
        (("spec", "workerGroupSpec"), [], ".spec.workerGroupSpec: unknown"),
        (
            ("spec", "headGroupSpec", "template", "spec"),
            {},
            ".spec.headGroupSpec.template.spec.containers: missing",
        ),
    ],
)
def test_what_kuberay_would_refuse_is_found(path: tuple[str, ...], value: Any, wrong: str) -> None:
    cluster = copy.deepcopy(manifests()[0])
    reduce(lambda table, key: table[key], path[:-1], cluster)[path[-1]] = value
    assert [*wrong_in(cluster, FIELDS["RayCluster"])] == [wrong]


def test_the_parts_of_the_manifest_fit_each_other() -> None:
    cluster, policy = manifests()
    name = {"ray.io/cluster": cluster["metadata"]["name"]}
    rule = policy["spec"]
    assert (
        rule["podSelector"]["matchLabels"]
        == rule["ingress"][0]["from"][0]["podSelector"]["matchLabels"]
        == name
    )
    pods = [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]
    containers = [container for pod in pods for container in pod["template"]["spec"]["containers"]]
    assert len({container["image"] for container in containers}) == 1
    switched_off = {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}
    assert all(switched_off in container["env"] for container in containers)
    assert cluster["spec"]["headGroupSpec"]["rayStartParams"] == {"num-cpus": "0"}
    head = pods[0]["template"]["spec"]
    volumes = {volume["name"] for volume in head["volumes"]}
    assert {mount["name"] for mount in head["containers"][0]["volumeMounts"]} == volumes


@need("shellcheck")
def test_the_script_for_slurm_is_clean() -> None:
    done = subprocess.run(
        ["shellcheck", "--severity=warning", SLURM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


_LISTENS = """my ($port) = "@ARGV" =~ /--port (\\d+)/ or exit 1;
my $door = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1", LocalPort => $port) or die;
sleep 60"""
_WAITS = """$SIG{TERM} = sub { open my $calls, ">>", "calls"; print $calls "ended\\n"; close $calls;
exit 130 }; open my $begun, ">", "begun"; close $begun; sleep 60"""
_PROGRAMS = {  # that stand in for what a job of Slurm finds on its PATH
    "ray": [
        'echo "ray $*" >> calls',
        f"exec perl -MIO::Socket::INET -e '{_LISTENS}' -- \"$@\"",
    ],
    "srun": ['echo "srun $*" >> calls', 'case $* in *"rm -rf"*) exit;; esac', "exec sleep 60"],
    "optimize-eval": [
        'echo "optimize-eval $* $(stat -c "%a %s" "$RAY_AUTH_TOKEN_PATH")" >> calls',
        'if [ "$1" = short ]; then exit 4; fi',
        f"exec perl -e '{_WAITS}'",
    ],
}


@contextmanager
def job(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Begin a job of two nodes, of which this process's machine is the first."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, lines in _PROGRAMS.items():
        write_program(programs / name, ["#!/bin/sh", *lines])
    slurm = {"SLURM_JOB_ID": str(free_job()), "SLURM_JOB_NUM_NODES": "2", "SLURM_CPUS_ON_NODE": "8"}
    environment = {**os.environ, **slurm, "SLURMD_NODENAME": "n1", "HEAD": "127.0.0.1"}
    with subprocess.Popen(["bash", SLURM, *arguments], cwd=folder, env=environment) as process:
        yield process


def free_job() -> int:
    """Find the number of a job whose port nobody has."""
    for number in range(os.getpid() % 9000, 9999):
        with suppress(OSError), socket.socket() as door:
            door.bind(("127.0.0.1", 20_000 + number))
            return number
    raise AssertionError("no port is free")


@need("bash", "perl")
def test_a_job_of_slurm_starts_a_cluster_for_a_command_and_ends_as_the_command_does(tmp_path: Path) -> None:
    with job(tmp_path, "short", "sweep.toml") as process:
        assert process.wait() == 4
    calls = calls_in(tmp_path)
    (address,) = re.findall(
        r"^optimize-eval short sweep.toml --engine ray --address (\S+) 600 64$", calls, re.MULTILINE
    )
    port = address.partition(":")[2]
    head = f"--num-cpus 8 --head --include-dashboard=false --node-ip-address 127.0.0.1 --port {port}\n"
    assert re.search(rf"^ray start --block --disable-usage-stats .* {head}", calls, re.MULTILINE)
    others = r"^srun --overlap --nodes=1 --ntasks=1 --exclude=n1 .* ray start --block .* --address "
    assert re.search(others + address, calls, re.MULTILINE)
    assert [*tmp_path.glob(".ray-token-*")] == []


@need("bash", "perl")
def test_a_job_whose_time_is_nearly_over_lets_the_command_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    with job(tmp_path, "long") as process:
        (tmp_path / "begun").read_text(encoding="utf-8")
        process.terminate()
        assert process.wait() == 130
    assert "ended\n" in calls_in(tmp_path)
    assert [*tmp_path.glob(".ray-token-*")] == []


def calls_in(folder: Path) -> str:
    return (folder / "calls").read_text(encoding="utf-8")
