"""Which names a template takes from outside, held to how Jinja itself finds them, and told by `validate`."""

from pathlib import Path

import pytest
from jinja2 import Environment, meta

from optimize_eval.tasks.templates.template import task_template_of
from tests.cli.defined import TASK, task
from tests.front_door import Cli

TEXTS = (
    "{% for x in l %}{% set z = x %}{% endfor %}{{ z }}",
    "{% for x in l if x.y %}{{ x }}{{ loop.index }}{% else %}{{ x }}{% endfor %}",
    "{% for a, b in c.items() %}{{ a }}{{ b }}{% endfor %}",
    "{% for t in tree recursive %}{{ loop(t.kids) }}{% endfor %}",
    "{% macro m(a, b=c) %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}{% call m(2) %}{{ w }}{% endcall %}",
    "{% with a = 1 %}{{ a }}{% endwith %}{{ a }}",
    "{% set z %}{% set k = 1 %}{{ k }}{% endset %}{{ z }}{{ k }}",
    "{% set n = namespace(x=0) %}{% for i in range(3) %}{% set n.x = i %}{% endfor %}{{ n.x }}",
    "{% filter upper %}{% set v = 1 %}{{ v }}{% endfilter %}{{ v }}",
    "{{ x if y else z }}",
)


@pytest.mark.parametrize("text", TEXTS)
def test_names_from_outside_are_those_that_jinja_finds(text: str) -> None:
    found = meta.find_undeclared_variables(Environment(autoescape=False).parse(text))  # noqa: S701
    assert {*task_template_of(text).lines} == found - {"range", "namespace"}


def test_what_is_set_under_a_condition_is_taken_for_set() -> None:
    for text in (
        "{% if a %}{% set z = 1 %}{% endif %}{{ z }}",
        "{% for a in [1] %}{{ z }}{% set z = 1 %}{% endfor %}",
    ):
        assert "z" not in task_template_of(text).lines


def test_what_is_set_in_a_loop_and_used_after_it_is_told_before_any_call(cli: Cli, tmp_path: Path) -> None:
    task(
        tmp_path,
        TASK.replace(
            '"{{ sample.question }}"', '"{% for x in [1] %}{% set last = x %}{% endfor %}{{ last }}"'
        ),
    )
    told = cli("validate", "sums.yaml")
    assert (told.status, "there is no 'last' here" in told.stdout) == (2, True)
