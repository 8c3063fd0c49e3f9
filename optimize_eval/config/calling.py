"""Options of how calls are made and when they end; none of them makes a run another run."""

import os
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from optimize_eval.base import checks
from optimize_eval.config import values
from optimize_eval.config.compared import RUN
from optimize_eval.config.declared import Heading, Option, OptionGroup

PATIENCE = "10m"
SLOTS = min(32, 4 * (os.cpu_count() or 1))


class OnFailure(StrEnum):
    """What a failed call does to a run."""

    EXCLUDE = "exclude"
    ABORT = "abort"


class EngineName(StrEnum):
    """Where calls are made."""

    LOCAL = "local"
    RAY = "ray"


class EngineOptions(OptionGroup):
    """Where calls are made, and how a cluster is used."""

    heading: ClassVar = Heading.CLUSTER

    engine: Annotated[EngineName, Option("local, or ray: a cluster.", "NAME", values.ENGINE, RUN)] = (
        EngineName.LOCAL
    )
    address: Annotated[str | None, Option("Where its head listens.", "HOST:PORT", values.TEXT, RUN)] = None
    slots_per_node: Annotated[
        int | None, Option("Calls at once on a node (-j).", "N", values.COUNT, RUN, least=1)
    ] = None
    chunk: Annotated[int, Option("Calls that travel together.", "N", values.COUNT, RUN, least=1)] = 16
    inflight: Annotated[int, Option("Chunks that a node has.", "N", values.COUNT, RUN, least=1)] = 2
    working_dir: Annotated[
        str | None, Option("A folder that nodes get a copy of.", "DIR", values.PATH, RUN)
    ] = None


class SlotOptions(OptionGroup):
    """How many calls are made at once."""

    heading: ClassVar = Heading.CALLING

    concurrency: Annotated[
        int, Option("Calls at once.", "N", values.COUNT, RUN, flags=("-j", "--concurrency"), least=1)
    ] = SLOTS


class CallOptions(SlotOptions):
    """How calls are made."""

    keep_stderr: Annotated[bool, Option("Also keep stderr of successful calls.", value=values.BOOLEAN)] = (
        False
    )
    no_preflight: Annotated[
        bool,
        Option("Do not stop early when the first calls fail.", value=values.BOOLEAN),
    ] = False


class ResumeOptions(OptionGroup):
    """What becomes of earlier calls, of this run or of others."""

    heading: ClassVar = Heading.CALLING

    fresh: Annotated[
        bool,
        Option("Delete what is in the folder and start over.", value=values.BOOLEAN),
    ] = False
    replace: Annotated[
        tuple[str, ...], Option("Call this evaluator again from the start.", "NAME", values.TEXTS)
    ] = ()
    reuse: Annotated[
        tuple[str, ...], Option("Copy scores of the same calls from there.", "RUN|auto", values.RUNS, RUN)
    ] = ()


class RecheckOptions(OptionGroup):
    """Whether scored calls are repeated."""

    heading: ClassVar = Heading.CALLING

    recheck: Annotated[
        int | None,
        Option("Then repeat N scored calls; report changes.", "N", values.COUNT, least=1),
    ] = None


class PatienceOptions(OptionGroup):
    """How long a call waits for a server of models."""

    heading: ClassVar = Heading.MODELS

    patience: Annotated[
        str,
        Option("Wait this long for a busy server (10m).", "TIME", values.DURATION, RUN, shows_default=False),
    ] = PATIENCE


class ServerOptions(PatienceOptions):
    """How servers of models are treated."""

    rpm: Annotated[
        float | None, Option("Calls per minute to a model server.", "N", values.ABOVE_ZERO, RUN)
    ] = None
    tpm: Annotated[
        float | None, Option("Tokens per minute to a model server.", "N", values.ABOVE_ZERO, RUN)
    ] = None


class PricedServerOptions(ServerOptions):
    """How they are treated, and what they cost."""

    prices: Annotated[Any, Option("TOML: [prices] of models.", "FILE", values.PRICES, typed=str | None)] = (
        None
    )


class TimeOptions(OptionGroup):
    """When calls end by the clock."""

    heading: ClassVar = Heading.STOPPING

    max_time: Annotated[
        str | None, Option("Begin no call after this long: 10m, 1h30m.", "DURATION", values.DURATION, RUN)
    ] = None


class StopOptions(TimeOptions):
    """When calls end before all are made."""

    on_failure: Annotated[OnFailure, Option("exclude it, or abort.", "HOW", values.ON_FAILURE, RUN)] = (
        OnFailure.EXCLUDE
    )
    max_failures: Annotated[
        str | None, Option("Stop after more failures than this.", "N|P%", values.MAX_FAILURES, RUN)
    ] = None


class SpendingOptions(OptionGroup):
    """When calls end by what they cost."""

    heading: ClassVar = Heading.STOPPING

    max_cost: Annotated[
        float | None, Option("Pause after spending this much.", "DOLLARS", values.ABOVE_ZERO, RUN)
    ] = None
    max_tokens_total: Annotated[
        int | None, Option("Pause after this many tokens.", "N", values.COUNT, RUN, least=1)
    ] = None
    estimate_tokens: Annotated[
        bool, Option("Guess untold tokens: characters / 4.", value=values.BOOLEAN, table=RUN)
    ] = False


class FolderOptions(OptionGroup):
    """Where a run is on disk."""

    heading: ClassVar = Heading.OUTPUT

    out: Annotated[str | None, Option("The run's folder.", "DIR", values.PATH, RUN)] = None


class NoteOptions(OptionGroup):
    """A note about a run."""

    heading: ClassVar = Heading.OUTPUT

    note: Annotated[
        str | None,
        Option("A note about the run; empty removes it.", "TEXT", values.NOTE, callback=checks.check_note),
    ] = None


class HandlingOptions(CallOptions, ResumeOptions, StopOptions, SpendingOptions, NoteOptions):
    """All that says how to call, and none of it what."""
