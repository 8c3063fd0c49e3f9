"""The host of templates and patterns in tests: one for a whole module, and one that a test may end."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.templates.template import template_of

SHORT = 0.4  # seconds for what never ends; that they are one second, the messages of a run say


@contextmanager
def host_for_all() -> Iterator[None]:
    """Start the host before the first test is watched for what it leaves."""
    assert template_of("{% set a = 1 %}{{ a }}").render({}) == "1"
    try:
        yield
    finally:
        hosted.close()


@contextmanager
def own_host_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put another host in the place of the one for all, which waits a short time only, and end it."""
    with monkeypatch.context() as patch:
        patch.setattr(hosted, "_host", None)
        patch.setattr(hosted, "SECONDS", SHORT)
        yield
        hosted.close()
