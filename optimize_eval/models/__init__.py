"""Language models: the one place that knows providers, keys and chat completions.

`spec` says what a model is, `providers` where it is called, `live` calls it once, when `turns` and `waits`
allow it; `reply` reads what came back, `forms` says how JSON is requested and `fields` what a server takes,
`outside` reaches providers that the table lacks.
Prompts, and what a text means, are for the callers: judges, models under test, reflection.
"""
