"""JSON for programs that are started hundreds of times: to import the package json is half of such a start."""

from _json import encode_basestring_ascii, make_encoder, make_scanner

_write = make_encoder(None, repr, encode_basestring_ascii, None, ": ", ", ", False, False, True)


class _Reading:
    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


_read = make_scanner(_Reading)


def loads(text):
    return _read(text, 0)[0]


def dumps(value):
    return "".join(_write(value, 0))
