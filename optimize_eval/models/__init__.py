"""Language models: the one place that knows providers, keys and chat completions.

`spec` says what a model is, `providers` where it is called, `live` calls it once, when `turns` allows it;
`reply` reads what came back, `refusals` what came in its place, `requests` says how JSON is requested and
what a server takes, `outside` reaches providers that the table lacks; `under_test` is what callers see.
Prompts, and what a text means, are for the callers: judges, models under test, reflection.
"""
