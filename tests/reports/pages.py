"""What a page holds as a file: its parts, packed or as they stand, and its examples in full."""

import base64
import gzip
import re
from typing import Any

import orjson

PART = re.compile(rb'<script type="[\w/]+" id="([\w-]+)">(.*?)</script>', re.DOTALL)


def parts(page: bytes) -> dict[str, bytes]:
    return {name.decode(): text for name, text in PART.findall(page)}


def opened(part: bytes) -> bytes:
    return gzip.decompress(base64.b64decode(part))


def details(page: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in parts(page).items():
        if name.startswith("block-"):
            found |= orjson.loads(opened(part))
    return found
