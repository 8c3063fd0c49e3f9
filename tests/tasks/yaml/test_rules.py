"""Each rule of task files: a file that breaks it alone, what is told of it, and files that break none."""

from pathlib import Path

from tests.front_door import Cli
from tests.tasks.yaml.made import (
    CLASSES,
    DATASET,
    FILTER,
    HEAD,
    JUDGE,
    SCORER,
    SNIPPET,
    SOLVER,
    builders,
    definition,
    metrics,
    of_dataset,
    parameter,
    rules,
    scorer,
    solver,
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
    "no key": (task(head=HEAD.replace("key: capitals\n", "")), "missing_required", "key", "key is required"),
    "key of blanks": (task(head=HEAD.replace("key: c", "key: 'a b' #")), "bad_value", "key", "a-z A-Z 0-9"),
    "key too long": (task(head=HEAD.replace("capitals", "k" * 251, 1)), "bad_value", "key", "1 to 250"),
    "empty display name": (
        task(head=HEAD.replace("Capitals", "''")),
        "bad_value",
        "display_name",
        "must not be empty",
    ),
    "no description": (
        task(head=HEAD.replace("description: Knows capitals.\n", "")),
        "missing_required",
        "description",
        "required",
    ),
    "no definition": (HEAD, "missing_required", "definition", "required"),
    "null definition": (
        f"{HEAD}definition:\n",
        "bad_type",
        "definition",
        "a mapping with a type, this is empty",
    ),
    "unknown field": (
        task(head=f"{HEAD}desciption: x\n"),
        "unknown_field",
        "desciption",
        "did you mean 'description'?",
    ),
    "ML task": (task(head=f"{HEAD}tasks: [chat]\n"), "bad_value", "tasks[0]", "chat_completion"),
    "tags": (task(head=f"{HEAD}tags: hard\n"), "bad_type", "tags", "must be a list"),
    "null tags": (task(head=f"{HEAD}tags:\n"), "bad_type", "tags", "must be a list, this is empty"),
    "entity type": (
        task(head=f"{HEAD}evaluated_entity_type: modle\n"),
        "bad_value",
        "evaluated_entity_type",
        "did you mean 'model'?",
    ),
    "unquoted yes": (
        task(head=HEAD.replace("Capitals", "yes")),
        "bad_type",
        "display_name",
        'quote it: "yes"',
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
    "definition's type": (
        definition("type: benchmark\n"),
        "bad_value",
        "definition.type",
        "did you mean 'benchmark_task'?",
    ),
    "levels differ": (
        definition(
            "evaluated_entity_type: model\n", DATASET, SOLVER, head=f"{HEAD}evaluated_entity_type: dataset\n"
        ),
        "bad_value",
        "definition.evaluated_entity_type",
        "at the top is dataset",
    ),
    "solver without a dataset": (task(dataset=""), "missing_required", "definition.dataset", "required"),
    "null dataset": (task(dataset="dataset:\n"), "missing_required", "definition.dataset", "required"),
    "model without a solver": (
        definition("evaluated_entity_type: model\n", DATASET),
        "missing_required",
        "definition.solver",
        "required",
    ),
    "model by the top without a solver": (
        definition(DATASET, head=f"{HEAD}evaluated_entity_type: model\n"),
        "missing_required",
        "definition.solver",
        "required",
    ),
    "dataset with a solver": (of_dataset(SOLVER), "bad_value", SOLVE, "has no solver"),
    "dataset without a key": (
        task(dataset="dataset: {}\n"),
        "missing_required",
        "definition.dataset.key",
        "",
    ),
    "dataset's keys": (
        task(dataset="dataset: {key: a, keys: [b]}\n"),
        "not_supported",
        "definition.dataset.keys",
        "",
    ),
    "dataset's source": (
        task(dataset="dataset: {key: a, source: hub}\n"),
        "bad_value",
        "definition.dataset.source",
        "must be one of dataset",
    ),
    "scorers no list": (task(scorers="scorers: {type: bleu}\n"), "bad_type", "definition.scorers", "a list"),
    "system with scorers": (
        definition(
            "type: system_task\n", "compute_evidence_snippet: 'def compute_evidence(): pass'\n", SCORER
        ),
        "unknown_field",
        "definition.scorers",
        "a system_task has no such field",
    ),
    "system without code": (
        definition("type: system_task\n"),
        "missing_required",
        "definition.compute_evidence_snippet",
        "",
    ),
    "system's function": (
        definition("type: system_task\n", "compute_evidence_snippet: 'def evidence(): pass'\n"),
        "bad_snippet",
        "definition.compute_evidence_snippet",
        "must define def compute_evidence()",
    ),
    # solvers
    "solver without a type": (
        solver("message_format: x\n"),
        "missing_required",
        f"{SOLVE}.type",
        "single_turn",
    ),
    "solver's type": (
        solver("type: singleturn_solver\n"),
        "bad_value",
        f"{SOLVE}.type",
        "did you mean 'single_turn_solver'?",
    ),
    "grouped": (solver("type: grouped_single_turn_solver\n"), "not_supported", f"{SOLVE}.type", ""),
    "postprocessor": (
        task(solver=f"{SOLVER}  postprocessor: {{}}\n"),
        "not_supported",
        f"{SOLVE}.postprocessor",
        "",
    ),
    "input builder": (
        solver("type: single_turn_solver\ninput_builder: {type: chat}\n"),
        "bad_value",
        f"{SOLVE}.input_builder.type",
        "chat_completion",
    ),
    "no template": (
        solver("type: single_turn_solver\ninput_builder: {type: generic}\n"),
        "missing_required",
        f"{SOLVE}.input_builder.template",
        "",
    ),
    "role": (
        task(solver=SOLVER.replace("role: user", "role: tool")),
        "bad_value",
        f"{SOLVE}.input_builder.input_messages[0].role",
        "system, user, assistant",
    ),
    "parts of a message": (
        task(solver=SOLVER.replace('"{{ sample.question }}"', "[{type: text}]")),
        "not_supported",
        f"{SOLVE}.input_builder.input_messages[0].content",
        "images",
    ),
    "no builders": (
        solver("type: multi_turn_solver\nmessage_builders: []\n"),
        "bad_value",
        f"{SOLVE}.message_builders",
        "must not be empty",
    ),
    "builder's type": (builders("- {type: generat}\n"), "bad_value", f"{B0}.type", "'generate'?"),
    "load_trace": (builders("- {type: load_trace}\n"), "not_supported", f"{B0}.type", ""),
    "no extra messages": (
        builders("- {type: generate_message, model_key: m, extra_input_messages: []}\n"),
        "bad_value",
        f"{B0}.extra_input_messages",
        "must not be empty",
    ),
    "stop without a text": (
        builders("- {type: generate, terminate_if: {keep_iteration: false}}\n"),
        "missing_required",
        f"{B0}.terminate_if.includes",
        "",
    ),
    "iterations": (
        builders("- {type: loop, max_iterations: -1, message_builders: [{type: generate}]}\n"),
        "bad_value",
        f"{B0}.max_iterations",
        "from 0",
    ),
    "iterations in text": (
        builders("- {type: loop, max_iterations: '3', message_builders: [{type: generate}]}\n"),
        "bad_type",
        f"{B0}.max_iterations",
        "a whole number, this is the text",
    ),
    "end of a loop": (
        builders("- {type: loop, on_max_iterations: stop, message_builders: [{type: generate}]}\n"),
        "bad_value",
        f"{B0}.on_max_iterations",
        "error, continue",
    ),
    "in a loop": (
        builders("- {type: loop, message_builders: [{type: generate, role: user}]}\n"),
        "unknown_field",
        f"{B0}.message_builders[0].role",
        "",
    ),
    "no trace column": (
        solver("type: pass_through_solver\n"),
        "missing_required",
        f"{SOLVE}.trace_column",
        "",
    ),
    "python's message format": (
        solver(
            "type: python\nmessage_format: x\n"
            "run_solver_snippet: 'async def run_solver(sample, model, trace): return trace'\n"
        ),
        "unknown_field",
        f"{SOLVE}.message_format",
        "",
    ),
    "plain run_solver": (
        solver("type: python\nrun_solver_snippet: 'def run_solver(sample, model, trace): return trace'\n"),
        "bad_snippet",
        f"{SOLVE}.run_solver_snippet",
        "must be async",
    ),
    "run_solver of two": (
        solver("type: python\nrun_solver_snippet: 'async def run_solver(sample, model): return 1'\n"),
        "bad_snippet",
        f"{SOLVE}.run_solver_snippet",
        "run_solver(sample, model, trace)",
    ),
    # scorers
    "scorer without a type": (scorer("ground_truth: x"), "missing_required", f"{S0}.type", "bleu"),
    "scorer's type": (
        scorer("type: string_equal\nground_truth: x"),
        "bad_value",
        f"{S0}.type",
        "did you mean 'string_equals'?",
    ),
    "no ground truth": (scorer("type: bleu"), "missing_required", f"{S0}.ground_truth", ""),
    "scorer's field": (
        scorer("type: bleu\nground_truth: x\nvalues: y"),
        "unknown_field",
        f"{S0}.values",
        "did you mean 'value'?",
    ),
    "purpose": (
        scorer("type: bleu\nground_truth: x\npurpose: rank"),
        "bad_value",
        f"{S0}.purpose",
        "score, qa",
    ),
    "keys of scorers": (
        task(
            scorers=SCORER.replace("ground", "key: a\n    ground")
            + SCORER[9:].replace("ground", "key: a\n    ground")
        ),
        "duplicate_key",
        "definition.scorers[1].key",
        "definition.scorers[0] has the key 'a' already",
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
    "no choices": (
        scorer("type: string_equals_mcqa\nground_truth_choice: A"),
        "missing_required",
        f"{S0}.choices",
        "",
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
    "no labels": (
        scorer(f"type: model_as_a_judge_classifier\n{JUDGE}correct_labels: []\nincorrect_labels: [b]"),
        "bad_value",
        f"{S0}.correct_labels",
        "must not be empty",
    ),
    "labels overlap": (
        scorer(f"type: model_as_a_judge_classifier\n{JUDGE}correct_labels: [a]\nincorrect_labels: [b, a]"),
        "bad_value",
        f"{S0}.incorrect_labels",
        "'a' is one of correct_labels, too",
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
    "judge without a model": (
        scorer("type: model_as_a_judge_scorer\nuser_prompt: x"),
        "missing_required",
        f"{S0}.model_key",
        "",
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
    "structured": (
        scorer(f"type: model_as_a_judge_classifier\n{CLASSES}use_structured_outputs: 'true'"),
        "bad_type",
        f"{S0}.use_structured_outputs",
        "true or false",
    ),
    "RAG score": (
        scorer("type: rag_checker\njudge_model_key: m\nscores_to_compute: [recal]"),
        "bad_value",
        f"{S0}.scores_to_compute[0]",
        "did you mean 'recall'?",
    ),
    "mode": (
        scorer("type: function_call_coverage\nfunction_calls: [f]\nmode: ordered"),
        "bad_value",
        f"{S0}.mode",
        "any_order, in_order",
    ),
    "call without a name": (
        scorer("type: function_call_coverage\nfunction_calls: [{arguments: {}}]"),
        "missing_required",
        f"{S0}.function_calls[0].name",
        "",
    ),
    "date in arguments": (
        scorer("type: function_call_coverage\nfunction_calls: [{name: f, arguments: {day: 2026-01-02}}]"),
        "bad_type",
        f"{S0}.function_calls[0].arguments.day",
        "quote it",
    ),
    "evaluator of nothing": (scorer("type: evaluator"), "missing_required", f"{S0}.command", "use, judge"),
    "evaluator of two": (
        scorer("type: evaluator\ncommand: a\nurl: http://b"),
        "bad_value",
        f"{S0}.url",
        "already",
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
    "weighted": (metrics("- {type: weighted_average}\n"), "not_supported", f"{M0}.type", ""),
    "metric without a field": (metrics("- {type: mean}\n"), "missing_required", f"{M0}.field", ""),
    "field that is not given": (
        metrics("- {type: mean, field: is_corect}\n"),
        "bad_value",
        f"{M0}.field",
        "did you mean 'is_correct'?",
    ),
    "field that is not computed": (
        metrics(
            "- {type: mean, field: precision}\n",
            "rag_checker",
            "judge_model_key: m\nscores_to_compute: [recall]",
        ),
        "bad_value",
        f"{M0}.field",
        "recall",
    ),
    "two results of one name": (
        metrics(
            "- {type: mean, field: is_correct}\n- {type: mean, field: is_correct, name: is_correct_mean}\n"
        ),
        "bad_value",
        f"{M1}.name",
        "has the result 'is_correct_mean' already",
    ),
    "count of metrics": (
        metrics("- {type: recall, num_true_positives_field: a}\n", "python", SNIPPET),
        "missing_required",
        f"{M0}.num_false_negatives_field",
        "",
    ),
    "answer yes": (
        metrics(
            "- {type: binary-classification, field_gt: a, field_pred: b, positive_answer: yes,\n"
            "   negative_answer: 'no'}\n",
            "python",
            SNIPPET,
        ),
        "bad_type",
        f"{M0}.positive_answer",
        'quote it: "yes"',
    ),
    "code of a metric": (
        metrics("- {type: python, compute_metrics_snippet: 'def metrics(x): pass'}\n"),
        "bad_snippet",
        f"{M0}.compute_metrics_snippet",
        "compute_metrics(scores)",
    ),
    # actions
    "action": (
        action("{op: exists, expression: x}").replace("exclude_from_metrics", "drop"),
        "bad_value",
        "definition.actions[0].action",
        "",
    ),
    "no op": (action("{expression: x}"), "missing_required", f"{F0}.op", ""),
    "op": (action("{op: equal, expression: x, value: 1}"), "bad_value", f"{F0}.op", "did you mean 'equals'?"),
    "no value": (action("{op: equals, expression: x}"), "missing_required", f"{F0}.value", ""),
    "values of a comparison": (
        action("{op: equals, expression: x, value: 1, values: [1]}"),
        "unknown_field",
        f"{F0}.values",
        "a comparison has no such field",
    ),
    "value of a unary": (action("{op: exists, expression: x, value: 1}"), "unknown_field", f"{F0}.value", ""),
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
    "parameter's type": (parameter("type: integer"), "bad_value", f"{P0}.type", "did you mean 'int'?"),
    "dict": (parameter("type: dict"), "not_supported", f"{P0}.type", ""),
    "parameter without a name": (
        task(head=f"{HEAD}config_spec: [{{type: int, key: p}}]\n"),
        "missing_required",
        f"{P0}.display_name",
        "",
    ),
    "keys of parameters": (
        task(
            head=f"{HEAD}config_spec:\n"
            "  - {type: int, key: p, display_name: P}\n  - {type: int, key: p, display_name: P}\n"
        ),
        "duplicate_key",
        "config_spec[1].key",
        "already",
    ),
    "min above max": (parameter("type: int, min: 3, max: 2"), "bad_value", f"{P0}.max", "must not be above"),
    "fraction for int": (
        parameter("type: int, default_value: 1.5"),
        "bad_type",
        f"{P0}.default_value",
        "whole",
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
    "default no member": (
        parameter("type: categorical, allowed_values: [a, b], default_value: c"),
        "bad_value",
        f"{P0}.default_value",
        "one of a, b; this is c",
    ),
    "no allowed values": (parameter("type: categorical"), "missing_required", f"{P0}.allowed_values", ""),
    "empty allowed values": (
        parameter("type: categorical, allowed_values: []"),
        "bad_value",
        f"{P0}.allowed_values",
        "",
    ),
    "no dtype": (parameter("type: list"), "missing_required", f"{P0}.dtype", ""),
    "dtype": (parameter("type: list, dtype: int"), "bad_value", f"{P0}.dtype", "integer"),
    "default of a list": (
        parameter("type: list, dtype: integer, default_value: [1, a]"),
        "bad_type",
        f"{P0}.default_value[1]",
        "whole",
    ),
    "string_kind": (parameter("type: string, string_kind: md"), "bad_value", f"{P0}.string_kind", "freeform"),
    "min of a string": (parameter("type: string, min: 1"), "unknown_field", f"{P0}.min", ""),
    "mapping of no value": (
        parameter("type: categorical, allowed_values: [a], values_mapping: {b: c}"),
        "bad_value",
        f"{P0}.values_mapping.b",
        "",
    ),
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
    "output in a dataset task": (
        of_dataset('scorers: [{type: bleu, ground_truth: x, value: "{{ solver_output.output }}"}]\n'),
        "bad_template",
        f"{S0}.value",
        "has no solver",
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
    "syntax of code": (
        code("def compute_scores(sample):\n    return {"),
        "bad_snippet",
        f"{S0}.compute_scores_snippet",
        "not Python",
    ),
    "await outside": (
        code("def compute_scores(sample):\n    return await sample"),
        "bad_snippet",
        f"{S0}.compute_scores_snippet",
        "await",
    ),
    "another function": (
        code("def score(sample): pass"),
        "bad_snippet",
        f"{S0}.compute_scores_snippet",
        "must define",
    ),
    "three arguments": (
        code("def compute_scores(sample, solver_output, trace): pass"),
        "bad_snippet",
        f"{S0}.compute_scores_snippet",
        "cannot be called as",
    ),
    "keywords": (
        code("def compute_scores(sample, *, solver_output): pass"),
        "bad_snippet",
        f"{S0}.compute_scores_snippet",
        "cannot be called as",
    ),
    "output in a dataset's code": (
        of_dataset(
            "scorers:\n  - type: python\n    compute_scores_snippet: 'def compute_scores(a, b): pass'\n"
        ),
        "bad_snippet",
        f"{S0}.compute_scores_snippet",
        "compute_scores(sample)",
    ),
    "samples": (
        code("def compute_scores(samples, output): pass", "python_all_samples"),
        "bad_snippet",
        f"{S0}.compute_scores_snippet",
        "compute_scores(samples)",
    ),
    # what is left to do
    "to do": (task(head=HEAD.replace("Knows", "((TODO))")), "unfinished", "description", "((TODO))"),
    "to do in a key": (task(head=HEAD.replace("key: capitals", "key: ((TODO))")), "unfinished", "key", ""),
    "to do in a list": (task(head=f"{HEAD}tags: [a, ((TODO))]\n"), "unfinished", "tags[1]", ""),
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
