"""Lines of a split that say the same count together, as clusters."""

from collections.abc import Sequence
from dataclasses import replace

from optimize_eval.store.layout import Label, Split

FEWEST_COPIES = 0.01  # of a split's lines, from which on copies are clustered


def copies_in(sha256: Sequence[str]) -> int:
    """Count the lines that are copies of an earlier one."""
    return len(sha256) - len(set(sha256))


def with_copies_joined(split: Split) -> Split:
    """Put copies into one cluster, together with the clusters that each of them is in."""
    return replace(split, clusters=joined(split.contents, split.clusters))


def joined(
    sha256: Sequence[str], clusters: Sequence[Label] | None, fewest: float = FEWEST_COPIES
) -> tuple[Label, ...] | None:
    """Join the clusters that share equal lines; None where every line stands for itself."""
    if copies_in(sha256) <= fewest * len(sha256):
        return None if clusters is None else tuple(clusters)
    if clusters is None:
        return tuple(sha256)
    parent: dict[str, str] = {}
    for digest, label in zip(sha256, clusters, strict=True):
        parent[_root(parent, f"line {digest}")] = _root(parent, f"cluster {label}")
    return tuple(_root(parent, f"cluster {label}") for label in clusters)


def _root(parent: dict[str, str], name: str) -> str:
    """Find the name that a joined cluster goes by."""
    path = []
    while (above := parent.get(name, name)) != name:
        path.append(name)
        name = above
    parent.update(dict.fromkeys(path, name))
    return name
