"""What code of tasks is given: the objects that arguments become. It imports nothing that costs."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    _Fields = dict[str, Any]
else:
    _Fields = dict


class Item(_Fields):
    """A part of a conversation: item["role"] and item.role are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}, only {', '.join(self)}") from None


class Output(str):  # noqa: SLOT000  it has a completion
    """What a model replied: its text, which has the fields of a chat completion, too."""

    completion = Item()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.completion, name)

    def __getitem__(self, key: Any) -> Any:
        return self.completion[key] if isinstance(key, str) else str.__getitem__(self, key)


class Trace:
    """A conversation."""

    def __init__(self, items: Iterable[Any] = (), completion: Mapping[str, Any] | None = None) -> None:
        self.items = [opened(item) for item in items]
        self.completion = opened(dict(completion or {}))

    @classmethod
    def from_items(cls, items: Iterable[Any]) -> Trace:
        return cls(items)

    @property
    def messages(self) -> list[Item]:
        said = [item for item in self.items if item.get("type", "message") == "message"]
        return [Item(role=item["role"], content=text_of(item)) for item in said]

    @property
    def assistant_messages(self) -> list[Item]:
        return [message for message in self.messages if message["role"] == "assistant"]

    @property
    def user_messages(self) -> list[Item]:
        return [message for message in self.messages if message["role"] == "user"]

    @property
    def function_calls(self) -> list[Item]:
        return [item for item in self.items if item.get("type") == "function_call"]

    def get_last_assistant_text(self) -> str | None:
        return self.assistant_messages[-1]["content"] if self.assistant_messages else None

    def get_last_user_text(self) -> str | None:
        return self.user_messages[-1]["content"] if self.user_messages else None


class SolverTrace(Trace):
    """A conversation that a solver adds to, and gives back."""

    def append_system_message(self, text: str) -> None:
        self._append("system", text)

    def append_user_message(self, text: str) -> None:
        self._append("user", text)

    def append_assistant_message(self, text: str) -> None:
        self._append("assistant", text)

    def add_model_response(self, response: Response) -> None:
        self.items.extend(response.items)
        self.completion = response.raw_output

    def _append(self, role: str, text: str) -> None:
        self.items.append(Item(type="message", role=role, content=text))


class _Promised:
    """An object with fields; a name that is not one of them is told with those that there are."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no {name!r}, only {', '.join(vars(self))}")


class SolverOutput(_Promised):
    """What a solver made of a sample."""

    def __init__(
        self, output: object = None, messages: Iterable[Any] = (), trace: Trace | None = None
    ) -> None:
        self.output = output
        self.messages = list(messages)
        self.trace = trace or Trace()


class SampleScore(_Promised):
    """What a scorer said of a sample."""

    def __init__(
        self, values: Mapping[str, Any] | None = None, metadata: Mapping[str, Any] | None = None
    ) -> None:
        self.values = dict(values or {})
        self.metadata = dict(metadata or {})


class Response(_Promised):
    """What a model replied to a solver."""

    def __init__(self, reply: Mapping[str, Any]) -> None:
        self.text = reply["text"]
        self.items = [opened(item) for item in reply["items"]]
        self.raw_output = opened(reply["raw_output"])


class Model:
    """The model under test, as a solver calls it."""

    def __init__(self, ask: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        self._ask = ask

    async def predict(self, given: Any, **options: Any) -> Response:
        """Give the reply to items, to a text, or to {"messages": …} and what else is sent."""
        match given:
            case str():
                sent = {"messages": [{"role": "user", "content": given}]}
            case Trace():
                sent = {"items": given.items}
            case dict():
                sent = given
            case _:
                sent = {"items": list(given)}
        return Response(self._ask({**sent, **options}))


def opened(value: object) -> Any:
    """Let all objects in a value be Items."""
    if isinstance(value, dict):
        return Item({key: opened(one) for key, one in value.items()})
    return [opened(one) for one in value] if isinstance(value, list) else value


def text_of(item: Mapping[str, Any]) -> str:
    """Give the text of a message, whose content may be a list of parts."""
    content = item.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def output_of(said: Mapping[str, Any]) -> SolverOutput:
    """Make what scorers are given of a conversation."""
    trace = Trace(said.get("items", ()), said.get("completion"))
    output = Output(trace.get_last_assistant_text() or "")
    output.completion = trace.completion
    return SolverOutput(output, trace.messages, trace)


MADE: Mapping[str, Callable[[Any], Any]] = {
    "solver_output": output_of,
    "trace": lambda said: SolverTrace(said.get("items", ()), said.get("completion")),
    "scores": lambda said: [SampleScore(one.get("values"), one.get("metadata")) for one in said],
}
NAMED: Mapping[str, Any] = {  # by `latticeflow.core.dtypes`
    **{kind.__name__: kind for kind in (SolverOutput, SampleScore, SolverTrace, Trace)},
    "RawSample": dict[str, object],
}
