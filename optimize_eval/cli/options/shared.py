"""Options of commands that take one or two, and no groups."""

from typing import Annotated

from optimize_eval.cli.options.bound import typed
from optimize_eval.config.declared import declared
from optimize_eval.config.printing import PrintOptions

Json = Annotated[bool, typed(declared(PrintOptions)["as_json"])]
