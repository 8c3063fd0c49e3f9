"""Code that tasks bring along, as those who call it see it. It runs in processes of its own (see inside)."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # what a snippet wants of a model → its reply


class Snippets(Protocol):
    """What runs code; for many threads."""

    def call(
        self,
        code: str,
        function: str,
        arguments: Mapping[str, Any],
        deadline: float,
        *,
        ask: Ask | None = None,
    ) -> Any:
        """Call a function that the code defines, plain or async, and give what it returns: a JSON value.

        Arguments are JSON values by name, in the order in which the function takes them; the last ones are
        left out where it takes fewer. Those of these names become what the API promises:

        sample, samples       as they are
        solver_output         of {"items": […], "completion": {…}}, an object with output and messages
        scores                of [{"values": {…}, "metadata": {…}}], objects with these two attributes
        trace, model          of the same as solver_output, a SolverTrace; of {}, what calls `ask`

        Raises EvaluationError: REPORTED with the line and words of an exception, TIMEOUT, KILLED.
        """
        ...

    def close(self) -> None:
        """End its processes; it is not called again."""
        ...
