"""Texts with fields in them: what they become, what is refused, and that nothing takes long or much."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2.sandbox import SandboxedEnvironment

from optimize_eval.tasks.templates.fault import TemplateFault
from optimize_eval.tasks.templates.hosted import with_conversation
from optimize_eval.tasks.templates.template import task_template_of, template_of
from tests.tasks.templates.hosts import host_for_all, own_host_of

NAMES = st.sampled_from(["a", "b", "long_name"])
VALUES = st.text() | st.integers() | st.booleans() | st.none() | st.lists(st.text(max_size=3), max_size=3)


@pytest.fixture(scope="module", autouse=True)
def host() -> Iterator[None]:
    with host_for_all():
        yield


@pytest.fixture
def own_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with own_host_of(monkeypatch):
        yield


def text_of(template: str, fields: Any = None, /, **named: Any) -> str:
    return template_of(template).render(named if fields is None else fields)


@given(st.text().filter(lambda text: "{{" not in text and "{%" not in text))
def test_a_text_without_fields_is_itself(text: str) -> None:
    assert text_of(text) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% if a %}yes{% else %}no{% endif %}", "yes"),
        ("{%- if not a %}x{% endif -%}", ""),
        ("{% for _ in a %}x{% endfor %}", "xxx"),
        ("{%d items", "{%d items"),
        ("100 {% of }", "100 {% of }"),
    ],
)
def test_a_text_with_blocks_alone_is_a_template(template: str, text: str) -> None:
    assert text_of(template, a="abc") == text


WRITTEN: list[tuple[Any, str]] = [
    (True, "True"),
    (None, "None"),
    (1.0, "1.0"),
    (["a"], "['a']"),
    ({"k": [None, "ä"]}, "{'k': [None, 'ä']}"),
    ("a", "a"),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN, ids=[text for _, text in WRITTEN])
def test_texts_of_tasks_write_values_as_jinja_does(value: Any, text: str) -> None:
    fields = {"sample": {"b": value}}
    for template in ("{{ sample.b }}", "{{ (sample.b) }}", "{% set a = 1 %}{{ sample.b }}"):
        assert task_template_of(template).render(fields) == text
        assert SandboxedEnvironment().from_string(template).render(fields) == text


@given(
    st.lists(st.tuples(st.text(alphabet="xy {}\n%", max_size=5), NAMES), max_size=6),
    st.fixed_dictionaries({"a": st.text(), "b": st.text(), "long_name": st.text()}),
)
def test_names_are_put_in_as_jinja_puts_them_in(parts: list[tuple[str, str]], fields: dict[str, str]) -> None:
    template = "".join(f"{text.replace('{', '').replace('%', '')}{{{{ {name} }}}}" for text, name in parts)
    environment = SandboxedEnvironment(keep_trailing_newline=True)
    assert text_of(template, **fields) == environment.from_string(template).render(fields)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES)
def test_ways_to_render_write_a_value_alike(value: Any) -> None:
    plain = text_of("{{ a }}", a=value)
    assert plain == text_of("{{ a }}{% if true %}{% endif %}", a=value)
    assert plain == text_of("{% set b = a %}{{ b }}", a=value)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ m.items }}", "3"),
        ("{{ m['items'] }}", "3"),
        ("{{ t | upper }}", "ADA"),
        ("{{ nothing | default('none') }}", "none"),
        ("{% if nothing is defined %}x{% endif %}{{ t }}", "ada"),
        ("{% for one in l %}{{ loop.index }}{{ one }} {% endfor %}{{ t }}", "1x 2y ada"),
        ("{{ t.split('d') | join('-') }}", "a-a"),
        ("{{ l }} {{ m }} {{ yes }}", '["x", "y"] {"items": 3} true'),
        ("{{ 3 * 7 }}", "21"),
        (
            "{% set n = namespace(x=0) %}{% for _ in l %}{% set n.x = n.x + 1 %}{% endfor %}{{ n.x }}{{ t }}",
            "2ada",
        ),
        ("{% macro show(one) %}<{{ one }}>{% endmacro %}{{ show(t) }}{{ dict(a=1) }}", '<ada>{"a": 1}'),
        ("{{ '{{' }}", "{{"),
    ],
)
def test_what_templates_can(template: str, text: str) -> None:
    assert text_of(template, m={"items": 3}, t="ada", l=["x", "y"], yes=True) == text


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ z }}", "there is no field 'z'"),
        ("{{ z | upper }}", "there is no field 'z'"),
        ("{% for one in z %}{% endfor %}{{ t }}", "there is no field 'z'"),
        ("{{ m.z }}", "there is no 'z' in an object; it is empty"),
        ("{{ d.z }}", "there is no 'z' in an object; it has a, b"),
        ("{{ t.__class__ }}", "there is no '__class__' in a str"),
        ("{{ t.upper }}", "a function is not a value"),
        ("{{ t + 1 }}", "TypeError"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ lipsum() }}", "there is no field 'lipsum'"),
        ("{{ t", "unexpected end of template"),
        ("{% include 'x' %}{{ t }}", "nothing from other files"),
        ("{% for one in l %}{{ one | shouty }}{% endfor %}", "no filter 'shouty'"),
        ("{% for one in l if one is evn %}{{ t }}{% endfor %}", "did you mean 'even'"),
        ("{{ long ~ long }}", "longer than 1 MiB"),
        ("{{ long }}{{ long }}", "longer than 1 MiB"),
        ("{% set x = long ~ long %}{{ x }}", "longer than 1 MiB"),
    ],
)
def test_what_templates_cannot(template: str, reason: str) -> None:
    with pytest.raises(TemplateFault, match=reason):
        text_of(template, m={}, d={"a": 1, "b": 2}, t="ada", long="x" * 600_000)


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{{ t }}",
        "{{ 'x' * 10 ** 10 }}",
        "{{ 9 ** (9 ** (9 ** 9)) }}",
        "{{ 't' | center(10 ** 10) }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '%9999999999d' | format(1) }}",
        "{{ t | replace('a', 'a' * 99999) | replace('a', 'a' * 99999) | replace('a', 'a' * 99999) }}",
        "{{ t | tojson | tojson | tojson | tojson | tojson }}" + "{{ t | tojson" + " | tojson" * 40 + "}}",
        "{% set x = t %}" + "{% set x = x ~ x %}" * 60 + "{{ x }}",
        "{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    ],
)
@pytest.mark.usefixtures("own_host")
def test_a_template_that_would_take_everything_ends_soon_and_the_next_is_rendered(template: str) -> None:
    started = time.monotonic()
    with pytest.raises(TemplateFault):
        text_of(template, t="ada")
    assert time.monotonic() - started < 30, "it takes its time, and a start of the host"
    assert text_of("{% for a in t %}{{ a }}{% endfor %}", t="ada") == "ada"


@pytest.mark.parametrize(
    "template",
    [
        "{{ " + "+".join(["t"] * 250) + " }}",
        "{{ " + "+".join(["t"] * 1500) + " }}",
        "{{ t" + ".b" * 1500 + " }}",
        "{{ t" + " | trim" * 1500 + " }}",
        "{{ " + "(" * 5000 + "t }}",
        "{{ " + "not " * 250 + "t }}",
        "{{ t }}" + "{% if t %}" * 250 + "{% endif %}" * 250,
        "{{ t }}" + "{% for x in t %}" * 25 + "{% endfor %}" * 25,
        "{{ t }}{% if t %}" + "{% elif t %}" * 3000 + "{% endif %}",
    ],
)
def test_what_is_nested_too_deeply_or_has_too_much_in_a_row_is_a_fault_of_the_template(template: str) -> None:
    with pytest.raises(TemplateFault, match="nested too deeply, or has too many operations"):
        text_of(template, t="ada")


def test_as_many_branches_are_taken_by_every_python() -> None:
    assert text_of("{{ t }}{% if t %}" + "{% elif t %}" * 2000 + "{% endif %}", t="ada") == "ada"


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ " + "9" * 5000 + " }}", "ValueError"),
        ("{{ [" + "1," * 22_000 + "] }}", "more than 20,000 parts"),
        ("{{ t }}" * 20_000, "more than 50,000 letters between braces"),
    ],
)
def test_what_cannot_be_parsed_for_its_size_is_a_fault_of_the_template(template: str, reason: str) -> None:
    with pytest.raises(TemplateFault, match=reason):
        text_of(template, t="ada")


@pytest.mark.parametrize(
    "expression",
    [
        *("2 | round(4000000, 'ceil')", "2 | round(precision=40000000)", "2 | round(n)"),
        *("t ~ " * 20 + "t", "t + " * 21 + "t", f"[{'t, ' * 21}]", f"{{{'t: t, ' * 21}}}"),
        *("t | trim(t)", "l | sum(start=[])", "t | int(0, 16)", "t | title", "l | sort", "l | max"),
        *("[t, t, t, t, t, t] | tojson | tojson | tojson", "t" + "[:]" * 21, f"0x{'f' * 20} // 3"),
    ],
)
def test_what_may_take_long_or_much_is_not_rendered_in_our_process(expression: str) -> None:
    assert not template_of(f"{{{{ {expression} }}}}").is_bounded


def test_what_goes_with_its_fields_is_rendered_in_our_process() -> None:
    for expression in ("n | round(2, 'floor')", "t ~ ', ' ~ t", "t | default('none')", "l[:5] | tojson"):
        assert template_of(f"{{{{ {expression} }}}}").is_bounded, expression


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("('{\"a\": [1]}' | fromjson).a[0]", "1"),
        ("'say \"x\"\n' | json_escape", r"say \"x\"\n"),
        ("l | zip([1, 2]) | tojson", '[["x", 1], ["y", 2]]'),
        ("m | merge({'b': 2}, {'items': 4})", '{"items": 4, "b": 2}'),
        ("t | regex_replace('(a)(d)', '\\\\2\\\\1')", "daa"),
        ("t | regex_replace('A', '-', 1, ignorecase=true)", "-da"),
        ("m | tojson(indent=2) | length", "16"),
    ],
)
def test_what_filters_of_tasks_make(expression: str, text: str) -> None:
    assert text_of(f"{{{{ {expression} }}}}", m={"items": 3}, t="ada", l=["x", "y"]) == text
    assert (
        text_of(f"{{% set all = {expression} %}}{{{{ all }}}}", m={"items": 3}, t="ada", l=["x", "y"]) == text
    )


@pytest.mark.usefixtures("own_host")
def test_a_replacement_that_would_take_for_ever_ends_soon() -> None:
    with pytest.raises(TemplateFault, match=r"takes longer than 0\.4 s"):
        text_of("{{ t | regex_replace('(a+)+$', 'b') }}", t="a" * 40 + "!")


def test_filters_that_go_once_through_their_fields_are_applied_in_our_process() -> None:
    for expression in ("t | fromjson", "t | json_escape", "m | merge(m)"):
        assert template_of(f"{{{{ {expression} }}}}").is_bounded, expression
    for expression in (
        "t | regex_replace('a', 'b')",
        "l | zip(l)",
        "m | merge(*l)",
        "m | merge(**m)",
        "t.join(l)",
    ):
        assert not template_of(f"{{{{ {expression} }}}}").is_bounded, expression


DEEP: dict[str, Any] = {}
for _ in range(2000):
    DEEP = {"d": DEEP}
FOREIGN = {"sample": {"text": "t", "none": None, "deep": DEEP, "long": 10**5000, "items": [1], "n": 1.5}}


PATHS = "n items none nope nope.x none.x text.upper text.__class__ __class__ keys deep long n.real"


@pytest.mark.parametrize("path", PATHS.split())
def test_a_path_of_names_gives_what_jinja_gives(path: str) -> None:
    def said(text: str) -> str:
        try:
            return task_template_of(text).render(FOREIGN)
        except TemplateFault as fault:
            return f"{fault.reason} {fault.is_missing}"

    assert said(f"a {{{{ sample.{path} }}}}") == said(f"a {{{{ sample.{path} }}}}{{% if 0 %}}{{% endif %}}")


def test_a_text_of_a_task_is_a_template_where_it_has_blocks_alone() -> None:
    assert task_template_of("{% if a %}x{% endif %}{# why #}").render({"a": 1}) == "x"
    assert task_template_of("{ a }").render({}) == "{ a }"


@pytest.mark.parametrize(
    "text", ["{{ a }}", "{% if a %}1{% endif %}", "{% for b in [a] %}{{ b }}{% endfor %}", "1"]
)
def test_a_text_of_a_task_loses_one_newline_at_its_end_and_a_prompt_none(text: str) -> None:
    for end, left in (("\n", ""), ("\r\n", ""), ("\n\n", "\n"), (" ", " ")):
        assert task_template_of(text + end).render({"a": 1}) == f"1{left}"
    assert task_template_of("{{ a }}\n").render({"a": "1\n"}) == "1\n", "of the text, not of what is put in"
    assert template_of("{{ a }}\n").render({"a": 1}) == "1\n"
    assert template_of("1\n").render({}) == "1\n"


CONVERSATION = {
    "items": [
        {"type": "message", "role": "system", "content": "Be brief."},
        {"type": "message", "role": "user", "content": "Hi?"},
        {"type": "message", "role": "assistant", "content": "Ho."},
        {"type": "message", "role": "user", "content": "Where?"},
        {"type": "function_call", "name": "look", "arguments": {"at": "map"}, "call_id": "1"},
        {"type": "message", "role": "assistant", "content": "Here."},
    ],
    "completion": {"id": "r1", "choices": [{"message": {"content": "Here."}, "logprobs": [0.5]}]},
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ solver_output.output }} {{ solver_output }} {{ model_output }}", "Here. Here. Here."),
        ("{{ solver_output.output.choices[0].message.content }}", "Here."),
        ("{{ solver_output.output['choices'][0]['logprobs'] }}{{ model_output.id }}", "[0.5]r1"),
        ("{{ model_output | upper }}{{ model_output[0] }}{{ model_output | tojson }}", 'HERE.H"Here."'),
        ("{{ model_outputs[0] }}{{ model_outputs[0].choices[0].message.role }}", "Ho.assistant"),
        ("{{ messages[0]['content'] }}{{ solver_output.messages | length }}", "Be brief.5"),
        ("{{ messages | last }}", '{"role": "assistant", "content": "Here."}'),
        ("{{ input_prompt }}", "Here."),
        ("{{ trace.items[4].name }}{{ trace.function_calls[0].arguments.at }}", "lookmap"),
        ("{{ trace.get_last_assistant_text() }}{{ trace.get_last_user_text() }}", "Here.Where?"),
        ("{{ (trace | tojson | fromjson)[5].content }}", "Here."),
        ("{{ sample.x }}", "1"),
    ],
)
def test_a_conversation_looks_alike_in_our_process_and_in_the_host(template: str, text: str) -> None:
    fields = with_conversation({"sample": {"x": 1}}, CONVERSATION)
    here, there = template_of(template), template_of("{% set a = 1 %}" + template)
    assert (here.is_bounded, there.is_bounded) == (True, False)
    assert here.render(fields) == there.render(fields) == text


def test_a_conversation_without_a_reply_has_empty_outputs() -> None:
    fields = with_conversation({}, {"items": [{"type": "message", "role": "user", "content": "Hi?"}]})
    assert text_of("{{ model_output }}|{{ input_prompt }}|{{ model_outputs | length }}", fields) == "||0"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ().__class__.__base__.__subclasses__() }}",
        "{{ trace.__init__.__globals__ }}",
        "{{ solver_output.output.__class__.__mro__ }}",
        "{{ trace['__class__'] }}",
        "{{ trace | attr('__class__') }}",
        "{{ trace.get_last_user_text.__func__.__globals__ }}",
        "{{ '{0.__class__}'.format(trace) }}",
    ],
)
def test_no_walk_over_attributes_leaves_the_values(template: str) -> None:
    with pytest.raises(TemplateFault):
        text_of(template, with_conversation({}, CONVERSATION))


def test_a_template_says_what_it_names_and_where() -> None:
    template = template_of(
        "Hi\n{{ name }}\n{% for one in rows %}{{ one }}{{ loop.index }}{% endfor %}{{name}}"
    )
    assert dict(template.lines) == {"name": 2, "rows": 3}
