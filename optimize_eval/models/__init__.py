"""Language models: the one place that knows providers, keys and chat completions.

`spec` says what a model is, `model_kinds` what `--model` takes, `under_test` what a model is to its callers.
`providers` says where one is called; `live` calls it once, when `turns` allows it; `requests` says how JSON
is requested and what a server takes, `reply` and `refusals` read what came back, `outside` reaches providers
that the table lacks. `shared` and `outputs` see to it that a reply is paid once. Prompts, and what a text
means, are for the callers: judges, tasks, reflection.
"""
