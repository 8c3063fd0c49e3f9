"""Task files that can be used: everything that the pages name, in every form that they allow."""

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
    scorer,
    solver,
    task,
)

PARAMETERS = """\
config_spec:
  - {type: float, key: f, display_name: F, min: 0, max: 1, default_value: 1, examples: [1]}
  - {type: int, key: i, display_name: I, default_value: 3, nullable: true, description: D}
  - {type: boolean, key: b, display_name: B, default_value: yes}
  - {type: string, key: s-t, display_name: S, string_kind: jinja, default_file_content: x}
  - {type: model, key: m, display_name: M, usage: [judge]}
  - {type: dataset, key: d, display_name: D}
  - {type: dataset_column, key: c, display_name: C, default_value: null}
  - {type: list, key: l, display_name: L, dtype: float, default_value: [1, 2.5]}
  - {type: categorical, key: k, display_name: K, allowed_values: [a, 2], default_value: 2,
     values_mapping: {a: x}}
  - {type: categorical, key: n, display_name: N, allowed_values: [a, b], multiple: true, default_value: [a]}
  - {type: boolean, key: u, display_name: U}
  - {type: float, key: w, display_name: W}
"""
USED = """\
dataset: {key: << config.d >>}
solver:
  type: single_turn_solver
  message_format: chat
  input_builder:
    type: generic
    template: |
      {% set letters = "ABC" -%}
      {"messages": [{"role": "user", "content": {{ sample.<< config.c >> | tojson }}}], "n": << config.i >>}
scorers:
  - {type: string_equals, ground_truth: '{{ sample.a if "<< config.s-t >>" == "x" else sample["b c"] }}'}
  - {type: model_as_a_judge_scorer, model_key: << config.m >>, user_prompt: "x << config.l >>",
     score_max: << config.w >>}
  - type: model_as_a_judge_classifier
    key: judge
    model_key: << config.m >>
    user_prompt: "{{ trace.get_last_assistant_text() }} of {{ model_outputs | length }}"
    correct_labels: << config.n >>
    incorrect_labels: [c]
    use_structured_outputs: << config.u >>
  - type: python
    compute_scores_snippet: |
      def compute_scores(sample, solver_output):
          return {"x": sample["<< config.c >>"], "y": 1 << 2 >> 1, "z": << config.f >>}
"""
SCORERS = """\
scorers:
  - {type: bleu, ground_truth: a, value: null, metrics: null, display_name: null, key: null}
  - {type: bleu, ground_truth: a,
     value: "{{ solver_output.output.choices[0].message.content }}", metrics: []}
  - {type: string_equals_mcqa, ground_truth_choice: A, choices: "{{ sample.choices }}"}
  - {type: string_equals_mcqa, ground_truth_choice: A, choices: [A, B]}
  - {type: string_equals_mcqa, ground_truth_choice: A, choices: "['A', 'B']"}
  - {type: labeler_via_model, model_key: openai$gpt-4-1-nano, user_prompt: x, valid_labels: []}
  - {type: rag_checker, judge_model_key: m}
  - {type: rag_checker, judge_model_key: m, query_column: q, target_column: t,
     scores_to_compute: [recall], context_column: c}
  - {type: function_call_coverage, mode: in_order,
     function_calls: [a, {name: b}, {name: c, arguments: {x: [1, null, true]}}]}
  - {type: function_call_coverage, function_calls: []}
  - {type: function_call_coverage, function_calls: "{{ sample.calls }}", purpose: qa}
  - {type: evaluator, command: python3 judge.py, timeout: 5, metrics: [{type: mean, field: anything}]}
  - {type: evaluator, judge: openai/m, objective: "Is it kind?", value: "{{ messages[0].content }}"}
  - {type: python_all_samples, compute_scores_snippet: "async def compute_scores(samples): return []"}
  - {type: python, compute_scores_snippet: "from mine import compute_scores"}
  - {type: python, compute_scores_snippet: "def compute_scores(sample): return {}"}
  - {type: python, compute_scores_snippet: "compute_scores = lambda sample: {}"}
"""
BUILDERS = """\
- {type: chat_message, role: system, content: "{{ candidate }}"}
- {type: chat_message, role: user, content: "{{ sample.q }} {{ messages | length }}",
   terminate_if: {includes: x}}
- {type: generate, terminate_if: null}
- type: loop
  max_iterations: 0
  on_max_iterations: continue
  message_builders:
    - type: generate_message
      model_key: m
      output_role: user
      include_conversation: false
      extra_input_messages: [{type: chat_message, role: user, content: "{{ loop_index }}"},
                             {role: system, content: ""}]
      terminate_if: {includes: <done>, keep_iteration: false}
    - {type: loop, message_builders: [{type: generate}]}
"""
METRICS = """\
- {type: mean, field: a}
- {type: mean, field: a, name: b, key: c}
- {type: std-dev, field: a}
- {type: max, field: a}
- {type: min, field: a}
- {type: frequency, field: l}
- {type: binary-classification, field_gt: a, field_pred: b, positive_answer: true, negative_answer: 0}
- {type: recall, num_true_positives_field: a, num_false_negatives_field: b, name: r}
- {type: precision, num_true_positives_field: a, num_false_positives_field: b, name: p}
- {type: f1-score, num_true_positives_field: a, num_false_negatives_field: b,
   num_false_positives_field: c, name: f}
- {type: python, compute_metrics_snippet: "def compute_metrics(scores): return {}"}
"""
ACTIONS = """\
actions:
  - {key: a, action: exclude_from_metrics,
     filter: {op: equals, expression: "{{ scores['a-b'].c }}", value: ENGLISH}}
  - {key: b, action: exclude_from_metrics,
     filter: {op: in, expression: "{{ sample.id }}", values: [1, "2", true]}}
  - {key: c, action: exclude_from_metrics, filter: {op: is_true, expression: "{{ solver_output.output }}"}}
"""
GOOD = {
    "smallest": task(),
    "null actions": task(scorers=f"{SCORER}actions:\n"),
    "no scorers": definition(DATASET, SOLVER),
    "empty scorers": task(scorers="scorers: []\n"),
    "all of the top": task(
        head=f"{HEAD}long_description: null\ntasks: [chat_completion, embeddings, custom]\n"
        "evaluated_entity_type: model\nconfig_spec: []\ntags: [a, b]\n"
    ),
    "empty description": task(head=HEAD.replace("Knows capitals.", '""')),
    "longest key": task(head=HEAD.replace("capitals", "k" * 250, 1)),
    "old type": definition("type: declarative_task\n", DATASET, SOLVER, SCORER),
    "said twice": definition(
        "type: benchmark_task\nevaluated_entity_type: model\n",
        DATASET,
        SOLVER,
        SCORER,
        head=f"{HEAD}evaluated_entity_type: model\n",
    ),
    "fast subset": task(dataset="dataset: {key: a b, fast_subset_size: 10, source: dataset}\n"),
    "dataset": of_dataset("scorers: [{type: bleu, ground_truth: a, value: '{{ sample.b }}'}]\n"),
    "dataset with a default": of_dataset(
        f"scorers: [{{type: labeler_via_model, {JUDGE.strip().replace(chr(10), ', ')}}}]\n", more=DATASET
    ),
    "neither": definition(DATASET),
    "dataset's code": of_dataset(
        "scorers: [{type: python, compute_scores_snippet: 'async def compute_scores(sample): pass'}]\n"
    ),
    "system": definition(
        "type: system_task\ncompute_evidence_snippet: 'async def compute_evidence(): return {}'\n"
    ),
    "parameters": definition(USED, head=HEAD + PARAMETERS),
    "operators": task(
        head=f"{HEAD}config_spec: [{{type: string, key: op, display_name: O}}]\n",
        scorers="""\
scorers:
  - {type: bleu, ground_truth: "{{ sample.a << config.op >> 3 }}", value: "{{ sample.b | << config.op >> }}"}
  - {type: python, compute_scores_snippet: "def compute_scores(sample): return 1 << config.op >> 2"}
""",
    ),
    "scorers": task(scorers=SCORERS),
    "judge": scorer(f"type: model_as_a_judge_classifier\n{CLASSES}"),
    "judge's range": scorer(f"type: model_as_a_judge_scorer\n{JUDGE}score_min: -1\nscore_max: 100"),
    "conversation": builders(BUILDERS),
    "pass through": solver(
        "type: pass_through_solver\ntrace_column: trace\nmessage_format: open_responses\n"
    ),
    "python": solver(
        "type: python\nrun_solver_snippet: |\n"
        "  import json\n  async def run_solver(sample, model, trace):\n      return trace\n"
    ),
    "metrics": metrics(METRICS, "python", SNIPPET),
    "multiclass": metrics(
        "- {type: multiclass_classification, field_gt: a, field_pred: b}\n", "python", SNIPPET
    ),
    "metrics of calls": metrics(
        "- {type: mean, field: required_calls_coverage}\n", "function_call_coverage", "function_calls: [f]"
    ),
    "metrics of RAG": metrics("- {type: mean, field: self_knowledge}\n", "rag_checker", "judge_model_key: m"),
    "actions": task(scorers=f"{SCORER}{ACTIONS}"),
    "a filter's number": definition(
        DATASET, SOLVER, SCORER, FILTER % "{op: less_than, expression: '{{ sample.n }}', value: 1.5}"
    ),
    "aliases": task(
        scorers="scorers:\n  - &a {type: string_equals, ground_truth: a}\n  - {<<: *a, ground_truth: b}\n"
    ),
    "a dollar": task(head=HEAD.replace("Knows", "Costs $5, or $x or openai$gpt")),
    "a parameter that is not used": parameter("type: int"),
    "not to do": task(head=HEAD.replace("Knows", "# ((TODO)) later\n  TODO ((todo)) knows")),
    "signs that look like parameters": task(
        head=f"{HEAD}long_description: 'cout << x; cin >> y, << bon mot >>, 1 << 2 >> 1'\ntags: ['']\n"
    ),
    "BOM and CRLF": ("\ufeff" + task()).replace("\n", "\r\n"),
}
