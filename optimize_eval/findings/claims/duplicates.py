"""Lines of equal bytes: in a split they say the same and count together, as clusters; in two, they leak."""

from collections.abc import Sequence
from dataclasses import replace

from optimize_eval.store.layout import Label, Layout, Split

FEWEST_COPIES = 0.01  # of a split's lines, from which on copies are clustered


def copies_in(sha256: Sequence[str]) -> int:
    """Count the lines that are copies of an earlier one."""
    return len(sha256) - len(set(sha256))


def leaked_in(layout: Layout) -> int:
    """Count examples that are there to confirm, and were seen in a split that choices were made on.

    Splits that are tasks, with scorers of their own, confirm nothing: several may be about one dataset.
    """
    seen: set[str] = set()
    leaked = 0
    for split in () if layout.splits_of else layout.splits:  # train, val, test
        leaked += sum(digest in seen for digest in split.sha256)
        seen.update(split.sha256)
    return leaked


def with_copies_joined(split: Split) -> Split:
    """Put copies into one cluster, together with the clusters that each of them is in."""
    return replace(split, clusters=joined(split.sha256, split.clusters))


def joined(sha256: Sequence[str], clusters: Sequence[Label] | None) -> tuple[Label, ...] | None:
    """Join the clusters that share equal lines; None where every line stands for itself."""
    if copies_in(sha256) <= FEWEST_COPIES * len(sha256):
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
