"""Values for parameters, as a command line and a file give them; what they may be is the task's to say."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json, strict_toml
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.tasks.definitions.read.given import Written

__all__ = ["Written", "config_of"]


def config_of(values: Mapping[str, Any], file: str = "") -> dict[str, Any]:
    """Read a file of values, YAML, JSON or TOML by its suffix; `values` win, of which texts are as written.

    A text of a file is a text; one of a command line may be a number, where the parameter is one.
    """
    written = {name: Written(text=one) if isinstance(one, str) else one for name, one in values.items()}
    return {**(_of_file(file) if file else {}), **written}


def _of_file(path: str) -> dict[str, Any]:
    data = files.read(path, files.SETTINGS)
    try:
        values = _decoded(Path(path).suffix.lower(), data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _wrong(path, "not UTF-8") from None
    except ValueError as error:
        raise _wrong(path, str(error), getattr(error, "line", None)) from None
    if not isinstance(values, dict):
        raise _wrong(path, "must be a mapping of parameters to values")
    return {str(name): value for name, value in values.items()}


def _decoded(suffix: str, text: str) -> Any:
    if suffix == ".toml":
        return strict_toml.loads(text)
    if suffix == ".json":
        return strict_json.loads(text, unique_keys=True)
    from optimize_eval.base import strict_yaml  # noqa: PLC0415  few values are in files

    return strict_yaml.loads(text)


def _wrong(path: str, reason: str, line: int | None = None) -> DataError:
    return DataError([Problem(path=path, rule="bad_config", reason=reason, line=line)])
