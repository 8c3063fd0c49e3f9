"""Options as the arguments of a function: checked as the keys of a sweep file are, shown in its signature."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, TypeVar

from optimize_eval.base.errors import UsageError
from optimize_eval.options.declared import Made, OptionGroup, all_declared, made
from optimize_eval.options.values import OptionValue

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Given(dict[str, Any]):
    """Arguments that were checked, by their names; what was not given, or None, is not there."""

    def group(self, group: type[Made]) -> Made:
        """Fill a group of options."""
        return made(group, self)


@dataclass(frozen=True)
class Keywords:
    """The arguments that a function takes by name: their types, and the groups that declare them."""

    function: str
    types: Any  # a TypedDict
    groups: tuple[type[OptionGroup], ...]

    def check(self, given: Mapping[str, Any]) -> Given:
        """Check values; raises UsageError at the first wrong one."""
        options, values = all_declared(self.groups), Given()
        for name, value in given.items():
            if name not in self.types.__annotations__:
                raise TypeError(f"{self.function}() got an unexpected keyword argument {name!r}")
            if value is not None:
                values[name] = check_value(name, options[name].option.value, value)
        return values

    def shown(self, function: Decorated) -> Decorated:
        """Show each argument with its default in the signature that help and notebooks read."""
        options = all_declared(self.groups)
        own = signature(function)
        kept = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        named = [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=options[name].default)
            for name, kind in self.types.__annotations__.items()
        ]
        vars(function)["__signature__"] = own.replace(parameters=[*kept, *named])
        return function


def check_value(name: str, kind: OptionValue | None, value: Any) -> Any:
    """Check the value of an argument; raises UsageError, with its name."""
    if kind is None:
        return value
    try:
        return kind.argument(value)
    except UsageError as error:  # a ValueError, too: it comes first
        raise UsageError(f"{name}: {error.message}", hint=error.hint) from None
    except ValueError as error:  # without the value, which may be a secret
        raise UsageError(f"{name}: {error}") from None
