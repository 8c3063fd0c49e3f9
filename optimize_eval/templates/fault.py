"""Why a template cannot be parsed, or not be rendered with these fields."""

RULE = "bad_template"


class TemplateFault(ValueError):
    """What is wrong; `name` is the field that is missing, where one is, and `line` the template's.

    `is_missing` also of what is missing inside a field.
    """

    def __init__(
        self, reason: str, *, line: int | None = None, name: str = "", is_missing: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.name = name
        self.is_missing = is_missing
