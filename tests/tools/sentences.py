"""Every sentence that the product says of results, gathered from the code into one page.

    python -m tests.tools.sentences    write docs/sentences.md anew

For whoever wants to read them in one go; what stands in braces is filled in when it is said.
"""

import ast
import re
from collections.abc import Iterator

from tests.paths import ROOT

PAGE = ROOT / "docs" / "sentences.md"

_ROOMS = ("findings", "search", "reports", "cli")
_FEWEST_WORDS = 4
_WORD = re.compile(r"[A-Za-z']{2,}")
_HEAD = """# Every sentence

What commands say of results, of failures and of what to do next, module by module, as the code has it:
a test holds this page to it, and `python -m tests.tools.sentences` writes it anew. What stands in braces
is filled in. It says where a sentence comes from, and lets all be read in one go.
What the terms mean is on [a page of its own](glossary.md).
"""


def write() -> str:
    """Write the page."""
    parts = [_HEAD]
    for room in _ROOMS:
        for path in sorted((ROOT / "optimize_eval" / room).rglob("*.py")):
            if said := list(dict.fromkeys(sentences_in(path.read_text(encoding="utf-8")))):
                lines = [f"- {text}" for text in said]
                parts.append("\n".join([f"## {path.relative_to(ROOT).as_posix()}", "", *lines, ""]))
    return "\n".join(parts)


def sentences_in(code: str) -> Iterator[str]:
    """Give the texts of a module that are sentences, or parts of some; none of its docstrings."""
    tree = ast.parse(code)
    inside = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_whole = isinstance(node, ast.JoinedStr) or id(node) not in inside
        text = _text_of(node) if is_whole and id(node) not in docstrings else ""
        words = _WORD.findall(re.sub(r"\{[^}]*\}", "", text))
        has_blanks = text.strip().count(" ") >= _FEWEST_WORDS - 1  # or it is a name
        if has_blanks and len(words) >= _FEWEST_WORDS and "\n" not in text.strip():
            yield " ".join(text.split()).replace("<", "\\<").replace("|", "\\|")


def _text_of(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text_of(part) for part in parts)
        case ast.FormattedValue(value=value):
            return f"{{{_name_of(value)}}}"
    return ""


def _name_of(value: ast.expr) -> str:
    """Say what is filled in: a variable, an attribute, or what a call makes."""
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=called, args=[_, ast.Constant(value=str() as noun)]) if (
            _name_of(called) == "count"
        ):
            return f"{noun}s"
        case ast.Call(func=called):
            return _name_of(called)
    return "…"


if __name__ == "__main__":
    PAGE.write_text(write(), encoding="utf-8")
