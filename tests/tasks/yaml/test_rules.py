"""Rules of task files whose words stand in no document of verdicts: a file that breaks one, what is told."""

from pathlib import Path

from tests.front_door import Cli
from tests.tasks.yaml.made import (
    DATASET,
    FILTER,
    HEAD,
    JUDGE,
    SCORER,
    SOLVER,
    builders,
    definition,
    metrics,
    of_dataset,
    parameter,
    rules,
    scorer,
    task,
    validated,
)

S0 = "definition.scorers[0]"
SOLVE = "definition.solver"
B0 = f"{SOLVE}.message_builders[0]"
M0, M1 = f"{S0}.metrics[0]", f"{S0}.metrics[1]"
P0 = "config_spec[0]"
F0 = "definition.actions[0].filter"


def action(text: str) -> str:
    return definition(DATASET, SOLVER, SCORER, FILTER % text)


def code(text: str, kind: str = "python") -> str:
    lines = text.replace("\n", "\n  ")
    return scorer(f"type: {kind}\ncompute_scores_snippet: |\n  {lines}")


BAD = {  # what is wrong → the file, its rule, its field, words of the detail
    # the task
    "key too long": (task(head=HEAD.replace("capitals", "k" * 251, 1)), "bad_value", "key", "1 to 250"),
    "unknown field": (
        task(head=f"{HEAD}desciption: x\n"),
        "unknown_field",
        "desciption",
        "did you mean 'description'?",
    ),
    "tags": (task(head=f"{HEAD}tags: hard\n"), "bad_type", "tags", "must be a list"),
    "entity type": (
        task(head=f"{HEAD}evaluated_entity_type: modle\n"),
        "bad_value",
        "evaluated_entity_type",
        "did you mean 'model'?",
    ),
    "unquoted number": (task(head=HEAD.replace("Capitals", "12")), "bad_type", "display_name", '"12"'),
    "unquoted date": (
        task(head=HEAD.replace("Capitals", "2026-01-02")),
        "bad_type",
        "display_name",
        'quote it: "2026-01-02"',
    ),
    "unquoted time": (task(head=HEAD.replace("Capitals", "1:30")), "bad_type", "display_name", '"1:30"'),
    "trials": (
        task(scorers=f"{SCORER}trials: {{}}\n"),
        "not_supported",
        "definition.trials",
        "not supported",
    ),
    # the definition
    "dataset's source": (
        task(dataset="dataset: {key: a, source: hub}\n"),
        "bad_value",
        "definition.dataset.source",
        "must be one of dataset",
    ),
    "scorers no list": (task(scorers="scorers: {type: bleu}\n"), "bad_type", "definition.scorers", "a list"),
    # solvers
    "parts of a message": (
        task(solver=SOLVER.replace('"{{ sample.question }}"', "[{type: text}]")),
        "not_supported",
        f"{SOLVE}.input_builder.input_messages[0].content",
        "images",
    ),
    "builder's type": (builders("- {type: generat}\n"), "bad_value", f"{B0}.type", "'generate'?"),
    "load_trace": (builders("- {type: load_trace}\n"), "not_supported", f"{B0}.type", ""),
    "iterations in text": (
        builders("- {type: loop, max_iterations: '3', message_builders: [{type: generate}]}\n"),
        "bad_type",
        f"{B0}.max_iterations",
        "a whole number, this is the text",
    ),
    "in a loop": (
        builders("- {type: loop, message_builders: [{type: generate, role: user}]}\n"),
        "unknown_field",
        f"{B0}.message_builders[0].role",
        "",
    ),
    # scorers
    "scorer's field": (
        scorer("type: bleu\nground_truth: x\nvalues: y"),
        "unknown_field",
        f"{S0}.values",
        "did you mean 'value'?",
    ),
    "a dataset's value": (
        of_dataset("scorers: [{type: bleu, ground_truth: x}]\n"),
        "missing_required",
        f"{S0}.value",
        "no output of a model",
    ),
    "a dataset's calls": (
        of_dataset("scorers: [{type: function_call_coverage, function_calls: [f]}]\n"),
        "bad_value",
        f"{S0}.type",
        "no solver",
    ),
    "choices in a text": (
        scorer("type: string_equals_mcqa\nground_truth_choice: A\nchoices: A or B"),
        "bad_type",
        f"{S0}.choices",
        "a list, or a template of one",
    ),
    "calls in a text": (
        scorer("type: function_call_coverage\nfunction_calls: search"),
        "bad_type",
        f"{S0}.function_calls",
        "a list, or a template of one",
    ),
    "label no": (
        scorer(f"type: model_as_a_judge_classifier\n{JUDGE}correct_labels: [y]\nincorrect_labels: [no]"),
        "bad_type",
        f"{S0}.incorrect_labels[0]",
        'quote it: "no"',
    ),
    "label of a number": (
        scorer(f"type: labeler_via_model\n{JUDGE}valid_labels: [1]"),
        "bad_type",
        f"{S0}.valid_labels[0]",
        'quote it: "1"',
    ),
    "judge's range": (
        scorer(f"type: model_as_a_judge_scorer\n{JUDGE}score_min: 5\nscore_max: 5"),
        "bad_value",
        f"{S0}.score_max",
        "must be less than",
    ),
    "judge's range by default": (
        scorer(f"type: model_as_a_judge_scorer\n{JUDGE}score_min: 1"),
        "bad_value",
        f"{S0}.score_min",
        "must be less than",
    ),
    "judge's bound": (
        scorer(f"type: model_as_a_judge_scorer\n{JUDGE}score_max: .inf"),
        "bad_value",
        f"{S0}.score_max",
        "finite",
    ),
    "number in exponents": (
        scorer(f"type: model_as_a_judge_scorer\n{JUDGE}score_max: 1e3"),
        "bad_type",
        f"{S0}.score_max",
        "a number, this is the text",
    ),
    "date in arguments": (
        scorer("type: function_call_coverage\nfunction_calls: [{name: f, arguments: {day: 2026-01-02}}]"),
        "bad_type",
        f"{S0}.function_calls[0].arguments.day",
        "quote it",
    ),
    "evaluator's key": (
        scorer("type: evaluator\ncommand: a\ntimout: 3"),
        "unknown_field",
        f"{S0}.timout",
        "'timeout'",
    ),
    "evaluator's value": (
        scorer("type: evaluator\ncommand: a\ntimeout: -1"),
        "bad_value",
        f"{S0}.timeout",
        "above 0",
    ),
    # metrics
    "metric's type": (
        metrics("- {type: avg, field: f}\n"),
        "bad_value",
        f"{M0}.type",
        "no metric of type 'avg'",
    ),
    "two results of one name": (
        metrics(
            "- {type: mean, field: is_correct}\n- {type: mean, field: is_correct, name: is_correct_mean}\n"
        ),
        "bad_value",
        f"{M1}.name",
        "has the result 'is_correct_mean' already",
    ),
    # actions
    "values of a comparison": (
        action("{op: equals, expression: x, value: 1, values: [1]}"),
        "unknown_field",
        f"{F0}.values",
        "a comparison has no such field",
    ),
    "null value": (action("{op: equals, expression: x, value: null}"), "bad_type", f"{F0}.value", ""),
    "foreign no": (
        action("{op: equals, expression: x, value: no}"),
        "bad_type",
        f"{F0}.value",
        'quote it: "no"',
    ),
    "date among values": (
        action("{op: in, expression: x, values: [2026-01-02]}"),
        "bad_type",
        f"{F0}.values[0]",
        'quote it: "2026-01-02"',
    ),
    # parameters
    "keys of parameters": (
        task(
            head=f"{HEAD}config_spec:\n"
            "  - {type: int, key: p, display_name: P}\n  - {type: int, key: p, display_name: P}\n"
        ),
        "duplicate_key",
        "config_spec[1].key",
        "already",
    ),
    "default out of range": (
        parameter("type: float, min: 0, max: 1, default_value: 2"),
        "bad_value",
        f"{P0}.default_value",
        "from 0 to 1, this is 2",
    ),
    "default of another type": (
        parameter("type: string, default_value: 1"),
        "bad_type",
        f"{P0}.default_value",
        "",
    ),
    "min of a string": (parameter("type: string, min: 1"), "unknown_field", f"{P0}.min", ""),
    # templates and code
    "name": (
        scorer('type: bleu\nground_truth: "{{ sampel.x }}"'),
        "bad_template",
        f"{S0}.ground_truth",
        "did you mean 'sample'?",
    ),
    "syntax of a template": (
        scorer('type: bleu\nground_truth: "{{ sample.x }"'),
        "bad_template",
        f"{S0}.ground_truth",
        "",
    ),
    "filter of a template": (
        scorer('type: bleu\nground_truth: "{% for x in sample.y %}{{ x | shouty }}{% endfor %}"'),
        "bad_template",
        f"{S0}.ground_truth",
        "shouty",
    ),
    "statements alone": (
        scorer('type: bleu\nground_truth: "{% if smaple.x %}a{% endif %}"'),
        "bad_template",
        f"{S0}.ground_truth",
        "'sample'?",
    ),
    "output in a solver": (
        task(solver=SOLVER.replace("sample.question", "solver_output.output")),
        "bad_template",
        f"{SOLVE}.input_builder.input_messages[0].content",
        "no 'solver_output' here",
    ),
    "config in braces": (
        scorer('type: bleu\nground_truth: "{{ config.x }}"'),
        "bad_template",
        f"{S0}.ground_truth",
        "<< config.NAME >>",
    ),
    "undeclared parameter": (
        parameter("type: int").replace("sample.question", "sample.<< config.q >>"),
        "bad_template",
        f"{SOLVE}.input_builder.input_messages[0].content",
        "no parameter 'q' in config_spec",
    ),
    "secret": (
        task(solver=SOLVER.replace("{{ sample.question }}", "<< secrets.token >>")),
        "bad_template",
        f"{SOLVE}.input_builder.input_messages[0].content",
        "<< secrets.token >> is not supported",
    ),
    "a word alone": (
        task(head=HEAD.replace("Knows", "<< Knows >>")),
        "bad_template",
        "description",
        "<< Knows >> is not supported",
    ),
    "more than a parameter": (
        parameter("type: int").replace("sample.question", "<< config.p | abs >>"),
        "bad_template",
        f"{SOLVE}.input_builder.input_messages[0].content",
        "is not supported",
    ),
    "open beside a parameter": (
        parameter("type: int").replace("{{ sample.question }}", "{{ sample.<< config.p >> "),
        "bad_template",
        f"{SOLVE}.input_builder.input_messages[0].content",
        "",
    ),
    "secret in code": (
        code("def compute_scores(sample):\n    return {'a': '<< secrets.key >>'}"),
        "bad_template",
        f"{S0}.compute_scores_snippet",
        "<< secrets.key >> is not supported",
    ),
    "scores in a scorer": (
        scorer('type: bleu\nground_truth: "{{ scores.a.b }}"'),
        "bad_template",
        f"{S0}.ground_truth",
        "no 'scores' here",
    ),
    "name in an action": (
        action('{op: exists, expression: "{{ score.a.b }}"}'),
        "bad_template",
        f"{F0}.expression",
        "did you mean 'scores'?",
    ),
    "await outside": (
        code("def compute_scores(sample):\n    return await sample"),
        "bad_snippet",
        f"{S0}.compute_scores_snippet",
        "await",
    ),
    # what is left to do
    "to do in a key": (task(head=HEAD.replace("key: capitals", "key: ((TODO))")), "unfinished", "key", ""),
    "to do in code": (
        code("def compute_scores(sample):\n    # ((TODO))\n    return {}"),
        "unfinished",
        f"{S0}.compute_scores_snippet",
        "",
    ),
}


def test_each_rule_is_told_alone_with_its_field_and_what_is_meant(cli: Cli, tmp_path: Path) -> None:
    files = {f"{number}.yaml": case[0] for number, case in enumerate(BAD.values())}
    told = validated(cli, tmp_path, files)
    found = {what: rules(one) for what, one in zip(BAD, told.values(), strict=True)}
    assert found == {what: [(rule, field)] for what, (_, rule, field, _) in BAD.items()}
    for (what, (_, _, _, words)), one in zip(BAD.items(), told.values(), strict=True):
        (error,) = one["errors"]
        assert words in error["detail"], what
        assert (one["valid"], one["ids"], one["kind"]) == (0, [], "task_yaml")
        assert error["path"] == one["path"]
        assert error["line_number"]
        assert error["column"]


def test_a_text_that_begins_like_a_parameter_is_read_once(cli: Cli, tmp_path: Path) -> None:
    text = f'"<<a{" " * 50_000} {"<< a " * 10_000}"'
    said = validated(cli, tmp_path, {"a.yaml": task(scorers=SCORER.replace('"{{ sample.answer }}"', text))})
    assert said["a.yaml"]["errors"] == []
