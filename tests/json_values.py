"""JSON values for laws."""

from hypothesis import strategies as st

TEXTS = st.text(st.characters(codec="utf-8"))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)
