"""Foreign text made harmless for where it is shown; what evaluators and data say is hostile by default."""

import json
import re

# Controls but for tab and line feed, C1 (a terminal may obey them), and what turns text around or hides it.
# As texts, like all patterns here: most commands print what needs none, and would wait for it to be compiled.
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
_CI_COMMANDS = r":(?=:)|##(?=\w*\[)"  # ::error::, ##[error], ##vso[…], ##teamcity[…]
_CI_COMMANDS_IN_JSON = r"#(?=#\w*\[)"

_NOTHING = "&#8203;"  # a blank without width: what stands on its two sides is read, and not obeyed
_MARKDOWN = (
    r"(?i)(?P<mark>[<>&|`$\\*\[\]~]|(?<![^\W_])_|_(?![^\W_]))"  # within a word _ is a letter
    r"|(?P<sign>[@#]|(?<=gh)-(?=\d)|:(?=//|[\w+-]+:)|(?<=www)\.)"  # mentions, issues, addresses, :emoji:
    r"|(?P<commit>(?<![^\W_])(?=\d*[a-f])[\da-f]{7,40}(?![^\W_]))"
)
_SHORTER = 6  # than any abbreviated commit
_BACKTICKS = "`+"
_NOT_XML = "[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]"


def inert(text: str, *, ci: bool) -> str:
    r"""Make a text safe for a terminal, and with `ci` also for a log whose runner obeys commands in it.

    >>> inert("done \x1b[2J", ci=False)
    'done \\x1b[2J'
    >>> inert("::error::gone", ci=True)
    ': :error: :gone'
    """
    shown = text if _is_plain(text) else re.sub(_CONTROLS, _escape, text)
    return re.sub(_CI_COMMANDS, r"\g<0> ", shown) if ci and ("::" in shown or "##" in shown) else shown


def _is_plain(text: str) -> bool:
    """Tell, in a tenth of a search's time, of most texts that nothing in them is to be escaped."""
    return text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()  # no control is


def inert_markdown(text: str, most: int) -> str:
    r"""Write so many letters of a text on one line of GitHub's Markdown: no markup, mention or link.

    >>> inert_markdown("| <b> @me *really*", 100)
    '&#124; &#60;b&#62; @&#8203;me &#42;really&#42;'
    """
    shown = " ".join(inert(shortened(text, most), ci=True).split())
    return re.sub(_MARKDOWN, _escape_in_markdown, shown)


def inert_code(text: str) -> str:
    """Write a text as code in Markdown, in which nothing is obeyed."""
    shown = inert(text, ci=True).replace("\n", "\\x0a")
    fence = "`" * (1 + max(map(len, re.findall(_BACKTICKS, shown)), default=0))
    room = " " * ("`" in shown)
    return f"{fence}{room}{shown}{room}{fence}"


def inert_xml(text: str) -> str:
    """Make a text fit for XML 1.0, which cannot hold every letter, and safe where the XML is shown."""
    shown = inert(text, ci=True)
    return shown if _is_plain(shown) else re.sub(_NOT_XML, _escape, shown)


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def inert_json(value: object) -> str:
    """Write JSON that is safe for a terminal: the same value, with risky characters escaped."""
    text = _dumps(value)
    text = re.sub(_CI_COMMANDS_IN_JSON, _escape_in_json, text) if "##" in text else text
    return text if text.isprintable() else re.sub(_CONTROLS, _escape_in_json, text)


def _dumps(value: object) -> str:
    from optimize_eval.base import strict_json  # noqa: PLC0415  orjson costs 10 ms, which a plain text need not pay

    try:
        return strict_json.dumps(value).decode()
    except UnicodeEncodeError:  # a file name that is not UTF-8
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def _escape_in_markdown(match: re.Match[str]) -> str:
    found = match.group()
    match match.lastgroup:
        case "mark":
            return f"&#{ord(found)};"  # which HTML and Markdown read alike
        case "commit":
            return _NOTHING.join(found[start : start + _SHORTER] for start in range(0, len(found), _SHORTER))
    return f"{_NOTHING}{found}" if found == "." else f"{found}{_NOTHING}"


def _escape_in_json(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004  what two digits hold
