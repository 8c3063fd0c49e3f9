"""A command evaluator behind HTTP: what `optimize-eval serve` runs.

http reads requests off a connection and writes replies to it; connections holds a bounded number of them, and
says whom a request may be for. Two answer on it: service reads bodies as payloads, calls the evaluator,
so many calls at a time, and says which status and body an outcome is; viewer serves runs to a browser.
Evaluators that are reached over HTTP are programs/served's business.

The principle is that the client judges: an answer that is wrong goes back as it came, so that the client
finds the same failure in it. What never became an answer is a 500, which is a failure to every client.
"""
