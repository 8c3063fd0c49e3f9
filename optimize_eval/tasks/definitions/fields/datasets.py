"""The fields of KEY.yaml, which says of a dataset where its rows are and which of them take part."""

from optimize_eval.tasks.definitions.fields.entities import ByType, Entity, field, type_field
from optimize_eval.tasks.definitions.fields.filters import FilterOf
from optimize_eval.tasks.definitions.fields.templates import ROW, Template
from optimize_eval.tasks.definitions.fields.values import Key, ListOf, Text

_FILTER = FilterOf(expression=Template(names=ROW, least=1))
_LOCAL = Entity(
    noun="a local source",
    fields=(type_field(), field("file_path", Text(least=1)), field("filters", ListOf(what=_FILTER), ())),
)
DATASET = Entity(
    noun="a dataset",
    fields=(
        field("key", Key()),
        field("display_name", Text(least=1), None),
        field("description", Text(), None),
        field(
            "source",
            ByType(
                noun="a source",
                entities={"local": _LOCAL},
                not_built=(
                    "dataset",
                    "folder",
                    "huggingface",
                    "inspect_ai",
                    "langsmith",
                    "phoenix",
                    "url",
                ),
            ),
        ),
    ),
    not_built=("generator", "generator_specification"),
)
