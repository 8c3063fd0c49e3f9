"""A model whose outputs are written down: what is known already is read back, and it is not called again."""

from collections.abc import Sequence
from pathlib import Path

from optimize_eval.errors import EvaluationError
from optimize_eval.evaluator import Capacity, EvaluatorSpec, Waits
from optimize_eval.tasks.identity import identify_model
from optimize_eval.tasks.target import tasks_of
from optimize_eval.tasks.under_test.model import Output, Prompt
from optimize_eval.tasks.under_test.outputs import close_outputs, key_of, open_outputs
from optimize_eval.tasks.under_test.table import connect_model


class RememberedModel:
    """Calls the model behind it for what is not written down."""

    def __init__(self, text: str, spec: EvaluatorSpec) -> None:
        task = tasks_of(spec)
        known = task.known_as if text == task.model else None
        self._identity = known or identify_model(text, spec)
        self._is_closed = False
        self._live = connect_model(text, spec)
        try:
            self._outputs = open_outputs(Path(task.outputs))
        except BaseException:
            self._live.close()
            raise

    @property
    def note(self) -> str:
        return self._live.note

    @property
    def capacity(self) -> Capacity:
        return self._live.capacity

    def generate(self, prompt: Prompt, deadline: float) -> Output:
        key = key_of(self._identity.sha256, prompt)
        known = self._outputs.find(key)
        return known or self._kept(key, prompt, self._live.generate(prompt, deadline))

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        keys = [key_of(self._identity.sha256, prompt) for prompt in prompts]
        known = [self._outputs.find(key) for key in keys]
        missing = [prompt for prompt, output in zip(prompts, known, strict=True) if output is None]
        replies = iter(self._call(missing, timeout))
        triples = zip(keys, prompts, known, strict=True)
        return [output or self._kept_if_any(key, prompt, next(replies)) for key, prompt, output in triples]

    def stop_waiting(self) -> None:
        if isinstance(self._live, Waits):
            self._live.stop_waiting()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._live.close()
        close_outputs(self._outputs)

    def _call(self, prompts: Sequence[Prompt], timeout: float) -> Sequence[Output | EvaluationError]:
        return self._live.generate_many(prompts, timeout) if prompts else ()

    def _kept_if_any(
        self, key: bytes, prompt: Prompt, output: Output | EvaluationError
    ) -> Output | EvaluationError:
        return output if isinstance(output, EvaluationError) else self._kept(key, prompt, output)

    def _kept(self, key: bytes, prompt: Prompt, output: Output) -> Output:
        self._outputs.keep(key, self._identity.text, prompt, output)
        return output
