"""What a declaration of an option holds, and groups of them; how groups are read and filled."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

from optimize_eval.base.documents import JsonDict, JsonMapping

if TYPE_CHECKING:
    from optimize_eval.config.values import OptionValue  # which loads more than most commands need

REQUIRED = ...  # the default of an option that has none


class Heading(StrEnum):
    """Under what an option stands in a command's help, in this order."""

    COMPARED = "What is compared"
    IMPROVED = "What is improved"
    DATA = "Data"
    MODELS = "Models and judges"
    EVALUATORS = "Evaluators"
    SEARCH = "The search"
    CALLING = "Calling"
    CLUSTER = "On a cluster"
    STOPPING = "Stopping"
    GATES = "Gates"
    RESULTS = "Results of other tools"
    OUTPUT = "Output"


class Option(NamedTuple):
    """All that is said of an option but its name, type and default, which its group's field has."""

    help: str
    metavar: str | None = None
    value: "OptionValue | None" = None  # what it may be elsewhere than on a command line
    table: str = ""  # of a sweep file; empty: it is no key
    key: str = ""  # what it is called there; empty: as the field
    flags: tuple[str, ...] = ()  # empty: by the rule
    least: float | None = None
    most: float | None = None
    typed: object = None  # what a command line takes, where a program may give more
    variable: str | None = None  # of the environment
    callback: Callable[..., Any] | None = None
    shows_default: bool = True
    hidden: bool = False


@dataclass_transform(frozen_default=True, kw_only_default=True)
class OptionGroup:
    """Options that a command takes together; a field is `name: Annotated[type, Option(…)] = default`.

    Not a dataclass, which takes a millisecond to be made: `run --help` reads a dozen groups.
    """

    heading: ClassVar[Heading]

    def __init__(self, **given: object) -> None:
        vars(self).update(given)

    def with_options(self, **given: object) -> Self:
        """Make the same options, but for what is given."""
        return type(self)(**{**vars(self), **given})


Made = TypeVar("Made", bound=OptionGroup)


class Declared(NamedTuple):
    """An option of a group."""

    name: str
    type: Any
    default: Any
    option: Option
    heading: Heading

    @property
    def is_repeated(self) -> bool:
        return get_origin(self.type) is tuple

    @property
    def flags(self) -> tuple[str, ...]:
        """Give the flags: those that are declared, or else the one that follows from the name."""
        if self.option.flags:
            return self.option.flags
        name = self.name.removesuffix("s") if self.is_repeated else self.name
        return (f"--{name.replace('_', '-')}",)

    @property
    def key(self) -> str:
        """Give its name in a sweep file."""
        return self.option.key or self.name


def declared(group: type[OptionGroup]) -> Mapping[str, Declared]:
    """List the options of a group by their names, those of the groups that it extends first."""
    options = {
        name: option
        for base in group.__bases__
        if issubclass(base, OptionGroup)
        for name, option in declared(base).items()
    }
    for name, annotation in vars(group).get("__annotations__", {}).items():
        if get_origin(annotation) is Annotated:
            kind, option = get_args(annotation)
            options[name] = Declared(name, kind, getattr(group, name, REQUIRED), option, group.heading)
    return options


def all_declared(groups: Iterable[type[OptionGroup]]) -> dict[str, Declared]:
    return {name: option for group in groups for name, option in declared(group).items()}


def made(group: type[Made], given: JsonMapping) -> Made:
    """Fill a group with what is given of it; what is None is left as it is by default."""
    return group(
        **{
            name: tuple(given[name]) if option.is_repeated else given[name]
            for name, option in declared(group).items()
            if given.get(name) is not None
        }
    )


def as_dict(*groups: OptionGroup) -> JsonDict:
    """Give the values of options by their names."""
    return {name: getattr(group, name) for group in groups for name in declared(type(group))}
