"""How a plan is carried out: what may differ from one session of a run to the next, checked."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, fields
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.config.calling import SLOTS, EngineName
from optimize_eval.config.compared import BoardGateOptions
from optimize_eval.config.declared import OptionGroup, as_dict
from optimize_eval.evaluators.kinds import models_called
from optimize_eval.run.engine import OnCluster
from optimize_eval.run.host import instant_after
from optimize_eval.run.plan import Plan
from optimize_eval.run.reuse import check_reuse
from optimize_eval.run.runner import Settings

ABORT = "abort"

_MOST_SLOTS = 1024
_ALL = 100
_SHARE = r"(\d{1,3}(?:\.\d+)?)%"


@frozen
class Handling:
    """What options say about how to call; none of it makes a run another run."""

    concurrency: int = SLOTS
    on_failure: str = "exclude"
    max_failures: str | None = None
    keep_stderr: bool = False
    no_preflight: bool = False
    fresh: bool = False
    replace: Collection[str] = ()
    max_cost: float | None = None  # of each session, in dollars
    reuse: Sequence[str] = ()
    note: str | None = None  # what to note of the run; None: what it has
    command: str = ""  # how to start this session again, as words for a shell; empty where there is no such
    ends_at: float | None = None  # the instant from which on no call begins
    cluster: OnCluster | None = None  # where calls are made; None: here
    caps: Caps = field(default_factory=Caps, compare=False)  # of all calls of models in the session

    def __post_init__(self) -> None:
        check_reuse(self.reuse, fresh=self.fresh)
        if self.concurrency > _MOST_SLOTS:
            raise UsageError(f"--concurrency {self.concurrency} is too many", hint=f"at most {_MOST_SLOTS:,}")

    def check(self, plan: Plan) -> None:
        """Refuse what cannot be read, before there is a run."""
        self.settings(plan)
        if self.max_cost is not None:
            check_prices(self.max_cost, plan.specs, plan.layout.task_models)

    def settings(self, plan: Plan) -> Settings:
        """Make what the runner of a plan takes."""
        return Settings(
            slots=self.concurrency,
            abort_on_failure=self.on_failure == ABORT,
            most_failures=most_failures(self.max_failures, plan.layout.size),
            keep_stderr=self.keep_stderr,
            probe=not self.no_preflight,
            caps=self.caps,
            ends_at=self.ends_at,
            cluster=self.cluster,
        )


def handling_of(*groups: OptionGroup) -> Handling:
    """Make of options how to call; what a command does not have is as it is by default."""
    given = as_dict(*groups)
    known = {one.name: given[one.name] for one in fields(Handling) if one.name in given}
    caps = Caps(
        given.get("max_cost"), given.get("max_tokens_total"), estimates=given.get("estimate_tokens", False)
    )
    ends_at = instant_after(given.get("max_time"))
    return Handling(ends_at=ends_at, caps=caps, cluster=cluster_of(given), **known)


def cluster_of(given: Mapping[str, Any]) -> OnCluster | None:
    """Read where calls are made; what is said of a cluster has to be about one."""
    if given.get("engine", EngineName.LOCAL) != EngineName.RAY:
        if wrong := [name for name in _OF_CLUSTERS if given.get(name) is not None]:
            flag = f"--{wrong[0].replace('_', '-')}"
            raise UsageError(f"{flag} is about a cluster", hint="add --engine ray, or omit it")
        return None
    if not given["address"]:
        raise UsageError("--engine ray needs the address of a cluster", hint="give --address HOST:PORT")
    return OnCluster(
        address=given["address"],
        slots=given["slots_per_node"] or given["concurrency"],
        chunk=given["chunk"],
        inflight=given["inflight"],
        working_dir=given["working_dir"] or "",
    )


_OF_CLUSTERS = ("address", "slots_per_node", "working_dir")


NO_GATES = BoardGateOptions()
_GATES = ("fail_under", "max_gap", "no_regression_against")


def gate_settings(gates: BoardGateOptions) -> dict[str, Any]:
    """Make what run.json keeps of gates, so that a later report can show what became of them."""
    given = {name: value for name in _GATES if (value := getattr(gates, name)) not in {None, ()}}
    return {"gates": given} if given else {}


def check_prices(most: float, specs: Sequence[EvaluatorSpec], task_models: Sequence[str | None] = ()) -> None:
    """Refuse a budget of money that cannot be kept, as the price of a model is not known."""
    if not 0 < most < math.inf:
        raise UsageError(f"--max-cost {most:g} is not a budget", hint="give dollars above 0, such as 2.50")
    from optimize_eval.models.turns import known_prices  # noqa: PLC0415  most runs have no such budget

    for spec in specs:
        prices = spec.manners.prices if spec.manners else {}
        known_prices(models_called(spec, task_models), prices)


def most_failures(text: str | None, calls: int) -> int | None:
    """Read --max-failures, a count or a share of the calls."""
    if text is None:
        return None
    if (share := re.fullmatch(_SHARE, text)) and float(share[1]) <= _ALL:
        return int(calls * float(share[1]) / _ALL)
    if text.isascii() and text.isdigit():
        return int(text)
    raise UsageError(
        f"--max-failures {text!r} is neither a count nor a share",
        hint="write a count from 0, such as 20, or a share from 0% to 100%, such as 5%",
    )
