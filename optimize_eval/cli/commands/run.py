"""`optimize-eval run`: candidates × evaluators × examples, called and recorded; then what is true of them."""

import typer

from optimize_eval.cli.command_line import SweepFile, SweepOption
from optimize_eval.config.commands import RunCommand

EXAMPLES = """\b
Examples:
  optimize-eval run -e ./judge.sh --candidate 'prompts/*.txt' --dataset train.jsonl --valset val.jsonl
  optimize-eval run -e @exact_match --candidate-field old --candidate-field new --dataset outputs.jsonl
  optimize-eval run -e 'python3 judge.py' --candidate v1.txt --dataset train.jsonl --dry-run
  optimize-eval run --prompt 'prompts/*.md' --model openai/gpt-4o-mini -e @f1 --dataset train.jsonl
  optimize-eval run --prompt a.md --model cmd:./m -e @f1 --dataset train.jsonl --show train-7
  optimize-eval run sweep.toml --limit 20

\b
Run the same command again to resume: scores are kept, failed calls are
retried.
Exit codes: 0 done, 1 a gate missed, 2 wrong option or data, 3 it could not go
on, 4 too many failures or out of time, 130 interrupted.
"""


def run(
    context: typer.Context,
    options: RunCommand,
    _sweep: SweepFile = None,
    _sweep_file: SweepOption = None,
) -> None:
    """Compare candidates over a dataset and a valset; an interrupted run resumes."""
    from optimize_eval.cli.comparing import compare  # noqa: PLC0415  a plain --help compares nothing

    compare(context, options)
