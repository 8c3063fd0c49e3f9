"""The program that does what may take any time: a line of JSON in, a line of JSON out, killed when late.

{"template": "…", "of_task": false, "fields": {…}, "_id": "…"}
    →  {"text": "…"} or {"fault": "…", "name": "…", "is_missing": …}
{"pattern": "…", "within": "…", "_id": "…"}  →  {"text": "…"}, what is found

A "conversation" beside the fields becomes more of them, as in hosted.
"""

import json
import re
import resource
import sys
from contextlib import suppress
from functools import lru_cache

from jinja2 import Template

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.tasks.templates.environment import compiled, made, parsed, rendered
from optimize_eval.tasks.templates.fault import FLAGS, TemplateFault, first_of
from optimize_eval.tasks.templates.hosted import with_conversation

_ROOM = 1 << 29  # bytes of memory

_ENVIRONMENTS = {of_task: made(of_task=of_task) for of_task in (False, True)}


def main() -> None:
    with suppress(OSError, ValueError):  # not every system keeps it
        resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
    for line in sys.stdin.buffer:
        question = json.loads(line)
        reply = {**_reply(question), "_id": question.get("_id"), "_capabilities": {"persistent": True}}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


def _reply(question: JsonDict) -> JsonDict:
    if "pattern" in question:
        return {"text": first_of(re.search(question["pattern"], question["within"], FLAGS))}
    try:
        return {
            "text": rendered(_template(question["template"], of_task=question["of_task"]), _fields(question))
        }
    except TemplateFault as fault:
        return {"fault": fault.reason, "name": fault.name, "is_missing": fault.is_missing}


def _fields(question: JsonMapping) -> JsonMapping:
    if "conversation" not in question:
        return question["fields"]  # type: ignore[no-any-return]
    return with_conversation(question["fields"], question["conversation"])


@lru_cache(64)
def _template(text: str, *, of_task: bool) -> Template:
    environment = _ENVIRONMENTS[of_task]
    return compiled(environment, parsed(environment, text))


if __name__ == "__main__":
    main()
