"""What programs of tests use in place of the package json, which is half of the start of a Python."""

JSON = """\
class json:
    from _json import encode_basestring_ascii, make_encoder
    _write = make_encoder(None, None, encode_basestring_ascii, None, ": ", ", ", False, False, True)
    _names = {"true": True, "false": False, "null": None}

    @classmethod
    def loads(cls, line):  # JSON that we write is Python, but for these names
        return eval(line, dict(cls._names))

    @classmethod
    def dumps(cls, value):
        return "".join(cls._write(value, 0))
"""
