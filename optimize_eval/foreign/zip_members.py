"""Members of a zip file, read by their names and never written anywhere: their names may lead anywhere.

What a directory says of sizes is a claim, so a member is read up to its cap. Compression by zstd is read by
pyarrow where Python's own module cannot.
"""

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, BinaryIO

from optimize_eval.data.tables import INSTALL
from optimize_eval.foreign.reading import ForeignFile
from optimize_eval.foreign.rows import refusal

_MIB = 1 << 20
_MOST_BYTES = 1 << 30  # of a file
_MOST_MEMBERS = 200_000
_MOST_MEMBER = 256 * _MIB
_SMALL, _MOST_TIMES = _MIB, 200  # beyond this size, a member is no larger than so many times what it takes
_ZSTD = 93
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD})
_IS_ENCRYPTED = 1
_HEADER, _LENGTHS = 30, slice(26, 30)
_INSTALL = f"the log is compressed with zstd, which pyarrow reads: {INSTALL}; or convert it:"
_CONVERT = "`inspect log convert --to json --output-dir . LOG`"


class Members:
    """A zip file that is open."""

    def __init__(self, file: ForeignFile, stream: BinaryIO, listed: zipfile.ZipFile) -> None:
        self._file = file
        self._stream = stream
        self._zip = listed
        self.names = frozenset(listed.namelist())

    def read(self, name: str) -> bytes:
        """Read a member; where a name stands twice, the last one is meant."""
        info = self._zip.getinfo(name)
        most = min(_MOST_MEMBER, max(_SMALL, info.compress_size * _MOST_TIMES))
        if info.flag_bits & _IS_ENCRYPTED:
            raise refusal(self._file.path, f"its member {name} is encrypted")
        if info.compress_type not in _METHODS:
            raise refusal(self._file.path, f"its member {name} has compression {info.compress_type}")
        if info.file_size > most:
            raise self._too_large(name)
        data = self._unpack(info, most)
        if len(data) > most or len(data) != info.file_size:
            raise self._too_large(name)
        return data

    def _too_large(self, name: str) -> Exception:
        return refusal(self._file.path, f"its member {name} is not as large as it says, or far too large")

    def _unpack(self, info: zipfile.ZipInfo, most: int) -> bytes:
        try:
            if info.compress_type == _ZSTD and not hasattr(zipfile, "ZIP_ZSTANDARD"):
                return self._unpack_zstd(info, most)
            with self._zip.open(info) as member:
                return member.read(most + 1)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, struct.error) as error:
            raise refusal(self._file.path, f"its member {info.filename} is damaged: {error}") from None

    def _unpack_zstd(self, info: zipfile.ZipInfo, most: int) -> bytes:
        if find_spec("pyarrow") is None:
            raise refusal(self._file.path, f"{_INSTALL} {_CONVERT}")
        self._stream.seek(info.header_offset)
        name, extra = struct.unpack("<HH", self._stream.read(_HEADER)[_LENGTHS])
        self._stream.seek(name + extra, 1)
        arrow: Any = import_module("pyarrow")
        packed = arrow.BufferReader(self._stream.read(info.compress_size))
        with arrow.input_stream(packed, compression="zstd") as stream:
            return bytes(stream.read(most + 1))


@contextmanager
def open_members(file: ForeignFile) -> Iterator[Members]:
    """Open a zip file, whose directory has to be sound."""
    file.digest(_MOST_BYTES)
    with file.open_stream() as stream:
        try:
            listed = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise refusal(file.path, f"it is no whole zip file: {error}") from None
        with listed:
            if len(listed.infolist()) > _MOST_MEMBERS:
                raise refusal(file.path, f"it has more than {_MOST_MEMBERS:,} members")
            yield Members(file, stream, listed)
