"""What a search improves: the texts of a candidate, which may be the messages of a prompt.

What --system says stays as it is. A proposal is rendered over all examples before any call; what is wrong for
held-out ones is told without a word of theirs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.errors import DataError, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.data.candidates import Candidate
from optimize_eval.models.under_test import Message, Messages, messages_of, text_of
from optimize_eval.run.prompting import Prompting
from optimize_eval.run.splits import SplitSource
from optimize_eval.tasks.prompts import FileForm, PromptFile, Where, check_prompts, written

ONLY = "candidate"  # what the only text of a plain candidate is called

Texts = Mapping[str, str]

_FORM = 'write {"system": "…", "examples": "…"}'


def plain(text: str) -> Texts:
    return {ONLY: text}


def is_plain(texts: Texts) -> bool:
    return list(texts) == [ONLY]


def of_json(text: str, path: str) -> Texts:
    """Read a candidate of several texts: one JSON object of them."""
    try:
        value = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault as fault:
        raise UsageError(f"{path}: components are one JSON object: {fault.reason}", hint=_FORM) from None
    if not isinstance(value, dict) or not value or not all(isinstance(text, str) for text in value.values()):
        raise UsageError(f"{path}: components are one JSON object of texts", hint=_FORM)
    if list(value) == [ONLY]:
        raise UsageError(
            f"{path}: a candidate of components is several texts, and this is one",
            hint="give the text itself",
        )
    return value


def components_as_text(texts: Texts) -> str:
    """Write a candidate as evaluators are given it."""
    if is_plain(texts):
        return texts[ONLY]
    return orjson.dumps(dict(texts)).decode()


def as_value(texts: Texts) -> str | dict[str, str]:
    """Give a candidate as proposers and JSON have it: a text, or an object of them."""
    return texts[ONLY] if is_plain(texts) else dict(texts)


_TRAIN = "train"
_HELD_OUT = "it cannot be rendered for some example that is held out"


@frozen
class SearchedPrompt:
    """How texts by their names make a prompt, and what it is to be rendered over."""

    before: Messages
    roles: tuple[tuple[str, str], ...]  # the names of texts, and who says each
    form: FileForm
    train: tuple[Where, ...]
    held_out: tuple[Where, ...]

    def text(self, texts: Texts) -> str:
        """Write a prompt as evaluators of replies are given it."""
        return text_of((*self.before, *self._messages(texts)))

    def as_file(self, texts: Texts) -> str:
        """Write a prompt as the file that it was."""
        return written(self._messages(texts), self.form)

    def fault(self, texts: Texts) -> str:
        """Say why a prompt cannot be sent for some example; empty where it can."""
        prompt = PromptFile(Candidate(name="proposal", text=self.text(texts)), "proposal")
        if fault := _fault(prompt, self.train):
            return fault
        return _HELD_OUT if self.held_out and _fault(prompt, self.held_out) else ""

    def _messages(self, texts: Texts) -> Messages:
        return tuple(Message(role, texts[name]) for name, role in self.roles)


def searched_prompt(prompting: Prompting, sources: Sequence[SplitSource]) -> SearchedPrompt:
    """Describe the prompts of a search, which are of one form; raises UsageError."""
    before = _of_system(prompting)
    all_roles = {_roles(_own(prompt.candidate, len(before))) for prompt in prompting.prompts}
    if len(all_roles) > 1:
        raise UsageError("the prompts have different messages", hint="give each the same roles")
    return SearchedPrompt(
        before=before,
        roles=all_roles.pop(),
        form=prompting.prompts[0].form,
        train=_places(source for source in sources if source.name == _TRAIN),
        held_out=_places(source for source in sources if source.name != _TRAIN),
    )


def seed_texts(prompt: SearchedPrompt, candidate: Candidate) -> Texts:
    """Give the texts of a prompt by their names."""
    messages = _own(candidate, len(prompt.before))
    return {name: said.content for (name, _), said in zip(prompt.roles, messages, strict=True)}


def _of_system(prompting: Prompting) -> Messages:
    return messages_of(prompting.prompts[0].candidate.text)[: prompting.system is not None]


def _own(candidate: Candidate, before: int) -> Messages:
    return messages_of(candidate.text)[before:]


def _roles(messages: Messages) -> tuple[tuple[str, str], ...]:
    """Name messages by their roles: user, assistant, user-2; one alone has no name."""
    if len(messages) == 1:
        return ((ONLY, messages[0].role),)
    times: Counter[str] = Counter()
    named = []
    for role, _ in messages:
        times[role] += 1
        named.append((role if times[role] == 1 else f"{role}-{times[role]}", role))
    return tuple(named)


def _fault(prompt: PromptFile, examples: Sequence[Where]) -> str:
    try:
        check_prompts([prompt], examples)
    except DataError as error:
        return error.problems[0].reason
    return ""


def _places(sources: Iterable[SplitSource]) -> tuple[Where, ...]:
    return tuple(Where(source.file, example) for source in sources for example in source.examples)
