"""What is not to be loaded before it is needed."""

DEAR = {  # each costs tens of milliseconds, or is not there where an extra is not installed
    "asyncio",
    "gepa",
    "httpx",
    "jinja2",
    "litellm",
    "numpy",
    "pandas",
    "pydantic",
    "pyreqwest",
    "ray",
    "rich",
    "sacrebleu",
    "scipy",
    "unittest",
    "yaml",
}
OF_MODELS = (
    "optimize_eval.models.live",
    "optimize_eval.programs.http_client",
    "optimize_eval.models.judging.judge",
)
