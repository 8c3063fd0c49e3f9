"""What makes a program the same one tomorrow: its text and the bytes of the files that it names.

What makes another kind of evaluator the same one is said with that kind. Never an absolute path, so that a
project may move; never a secret in readable form.
"""

import hashlib
import inspect
import os
import shlex
import stat
from collections.abc import Callable, Collection
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

import orjson

from optimize_eval.base import files, shipped
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.secrets import mask
from optimize_eval.programs.exchange import argv_of, show_url, url_of
from optimize_eval.programs.not_started import INTERPRETERS

_CHUNK = 1 << 20


@frozen
class Identity:
    """An evaluator as a run knows it."""

    name: str
    text: str  # fit to be stored and shown
    files: tuple[tuple[str, str], ...]  # name, sha256
    sha256: str
    judge: JsonMapping = field(default_factory=dict)  # what is judged and how, for those who read run.json

    def to_dict(self) -> JsonDict:
        files = [{"name": name, "sha256": digest} for name, digest in self.files]
        judge = {"judge": dict(self.judge)} if self.judge else {}
        return {"name": self.name, "text": self.text, "files": files, "sha256": self.sha256, **judge}


def identify_command(spec: EvaluatorSpec) -> Identity:
    """Read the files that a command names, and digest what it is."""
    argv = argv_of(spec)
    is_shipped = spec.text.startswith("@")
    words = [_portable(word) for word in (shlex.split(spec.text) if is_shipped else argv)]
    launched = len(argv) - is_shipped  # what runs a shipped program is ours to choose
    named = [_file_named(word, index, spec) for index, word in enumerate(argv)][-launched:]
    shared = shipped.shared_by(Path(argv[1])) if is_shipped else ()  # not named, but part of it
    files = tuple((_text(file.name), digest_of(file)) for file in (*named, *shared) if file)
    text = mask(_text(shlex.join(words)))
    chosen = [sorted(spec.environment.items())] if spec.environment else []
    return Identity(name=spec.name, text=text, files=files, sha256=digest_words([words, files, *chosen]))


def has_changed(spec: EvaluatorSpec, known: Identity) -> bool:
    """Return True if a program is not the one that was identified; data that it writes to may change."""
    try:
        now = identify_command(spec).files
    except UsageError:  # it cannot be read any more
        return True
    return has_other_programs(known, now, spec)


def has_other_programs(known: Identity, now: Collection[tuple[str, str]], spec: EvaluatorSpec) -> bool:
    """Return True if one of the files that were known is a program, and is not among those of now."""
    argv = argv_of(spec)
    program = Path(argv[0]).name if argv else ""
    return any(
        file not in now for file in known.files if file[0] == program or Path(file[0]).suffix in INTERPRETERS
    )


def identify_url(spec: EvaluatorSpec) -> Identity:
    """Digest what an endpoint is: its URL without a user and a password."""
    url = url_of(spec)
    text = show_url(url)
    return Identity(name=spec.name, text=text, files=(), sha256=digest_words([text, url.partition("?")[2]]))


def _portable(word: str) -> str:
    """Write a word that is an absolute path as the file's name alone."""
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    is_path = value.startswith("/") and len(value.split()) == 1  # more words are a script in quotes
    return f"{option}{equals}{Path(value).name}" if is_path and Path(value).name else word


def _file_named(word: str, place: int, spec: EvaluatorSpec) -> Path | None:
    value = word.partition("=")[2] if word.startswith("-") else word
    if not value or (place == 0 and "/" not in word):  # a program that PATH finds is named, its file is not
        return None
    file = Path(spec.cwd or ".", value)
    try:
        return file if stat.S_ISREG(file.stat().st_mode) else None
    except (OSError, ValueError):
        return None


def digest_of(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with files.open_file(file) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except files.Refused as error:
        raise UsageError(
            f"{file}: {error.reason}", hint="look at what the evaluator or model names"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{file}, which an evaluator or model names, cannot be read: {error.strerror}",
            hint="its contents are part of what the run is; make it readable",
        ) from None
    return digest.hexdigest()


def digest_words(value: object) -> str:
    """Digest texts and lists of them."""
    return hashlib.sha256(orjson.dumps(_plain(value))).hexdigest()


def _plain(value: Any) -> Any:
    """Write words as what they are on disk, readable where that is UTF-8."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _text(value)


def _text(word: str) -> str:
    return os.fsencode(word).decode("utf-8", "backslashreplace")


Function = Callable[..., Any]


@frozen
class PythonFunction:
    """A function, and what makes it the same one."""

    kind: ClassVar[str] = "function"
    function: Function
    name: str
    sha256: str  # of its code

    @property
    def words(self) -> tuple[str, ...]:
        return "python function", self.name, self.sha256


def python_function(function: Function) -> PythonFunction:
    """Name a function, and digest its code."""
    name = getattr(function, "__name__", type(function).__name__).strip("<>") or "function"
    digest = hashlib.sha256(_source(function).encode()).hexdigest()
    return PythonFunction(function=function, name=name, sha256=digest)


def _source(function: Function) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # of a class's instance, of C, or typed in
        code = getattr(function, "__code__", None)
        return repr((code.co_code, code.co_consts)) if code else repr(type(function))
