"""What makes a judge the same one tomorrow: its model, how that is called, and the words in which it is."""

import hashlib
from dataclasses import asdict, replace

import orjson

from optimize_eval.base.secrets import masked
from optimize_eval.kinds.judge.live import model_of
from optimize_eval.kinds.judge.prompt import instructions
from optimize_eval.kinds.judge.rubric import JudgeSpec
from optimize_eval.models.provider_model import base_around, essence
from optimize_eval.programs.http_client import shown
from optimize_eval.programs.identity import Identity


def identify(name: str, judge: JudgeSpec) -> Identity:
    """Digest what a judge is."""
    known = asdict(replace(judge, table=None))
    del known["table"]
    del known["rubric_file"]  # a rubric may move
    del known["human"]  # which it is not shown, as others
    known["hides"] = judge.blind_to
    for key in ("shows", "hides", "shows_prompt", "shows_model", "hides_model"):
        if not known[key]:
            del known[key]  # so that a judge that is shown all is the one that it was in older runs
    known["api_base"] = shown(judge.api_base) if judge.api_base else ""
    document = {**known, "rubric": {key: value for key, value in known["rubric"].items() if value}}
    document |= {"human": judge.human} if judge.human else {}
    table = essence(judge.table)  # without it a judge is the one that it was in older runs
    parts = [known, instructions(judge), *([table] if table else []), *base_around(model_of(judge))]
    digest = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS))
    return Identity(
        name=name, text=masked(f"judge:{judge.model}"), files=(), sha256=digest.hexdigest(), judge=document
    )
