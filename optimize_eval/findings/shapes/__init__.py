"""The documents that findings are handed on in: one dataclass for each shape that summary.json has."""
