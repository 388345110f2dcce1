"""Changes of a tree by hand: values are moved, put into groups, and groups renamed or dissolved.

Nodes are given by their numbers. A group that has lost all its values is gone.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from covey.errors import TaxonomyError
from covey.schema.taxonomy import DEEPEST, Taxonomy, build

_Parents = dict[str, str]


def moved(tree: Taxonomy, nodes: Sequence[int], to: int) -> Taxonomy:
    """The tree with these values and groups under another group."""
    _refuse_unless(to >= tree.leaf_count, "choose a group to move to, not a value")
    above = set(tree.ancestors[to].tolist())
    topmost = _topmost(tree, nodes)
    _refuse_unless(not above & set(topmost), "a group cannot move into itself")
    return _built(tree, _parents(tree) | {tree.labels[node]: tree.labels[to] for node in topmost})


def grouped(tree: Taxonomy, nodes: Sequence[int], label: str) -> Taxonomy:
    """The tree with a new group of these values and groups, where they were before."""
    _refuse_taken(tree, label)
    topmost = _topmost(tree, nodes)
    above = tree.lowest_common_ancestor([int(tree.parent[node]) for node in topmost])
    added = {label: tree.labels[above]} | {tree.labels[node]: label for node in topmost}
    return _built(tree, _parents(tree) | added)


def renamed(tree: Taxonomy, nodes: Sequence[int], label: str) -> Taxonomy:
    """The tree with another name for a group."""
    _refuse_unless(len(nodes) == 1, "choose one group to rename")
    (node,) = nodes
    _refuse_unless(
        node >= tree.leaf_count, "only groups can be renamed: values come from the table"
    )
    _refuse_taken(tree, label)
    names = {tree.labels[node]: label}
    parents = _parents(tree).items()
    return _built(tree, {names.get(one, one): names.get(up, up) for one, up in parents})


def dissolved(tree: Taxonomy, nodes: Sequence[int]) -> Taxonomy:
    """The tree without these groups: what was in one is in the group above it."""
    inner = [node for node in nodes if tree.leaf_count <= node < tree.root]
    _refuse_unless(bool(inner), "choose a group to dissolve")
    parents = _parents(tree)
    for label in [tree.labels[node] for node in sorted(inner)]:  # lower ones first
        above = parents.pop(label)
        parents = {one: above if up == label else up for one, up in parents.items()}
    return _built(tree, parents)


def completed(tree: Taxonomy, values: Iterable[str]) -> Taxonomy:
    """The tree with more values, directly below its root."""
    lacking = [value for value in values if value not in tree.node_of]
    return _built(tree, _parents(tree) | dict.fromkeys(lacking, tree.labels[tree.root]))


def _parents(tree: Taxonomy) -> _Parents:
    """The parent of each label, in the order of the leaves."""
    return {label: above for path in tree.paths() for label, above in pairwise(path)}


def _topmost(tree: Taxonomy, nodes: Sequence[int]) -> list[int]:
    """The chosen nodes that are below no other chosen one: with a group goes what is in it."""
    chosen = set(nodes)
    _refuse_unless(bool(chosen), "choose some values first")
    _refuse_unless(tree.root not in chosen, "the top of the tree cannot move")
    return [
        node
        for node in dict.fromkeys(nodes)
        if not chosen & set(tree.ancestors[node, : tree.depth[node]].tolist())
    ]


def _built(tree: Taxonomy, parents: _Parents) -> Taxonomy:
    """The tree of these parents, without groups that have become empty."""
    values = set(tree.leaves)
    while True:
        filled = set(parents.values())
        old = set(tree.labels) - values
        kept = {one: up for one, up in parents.items() if one in filled or one not in old}
        if len(kept) == len(parents):
            break
        parents = kept
    found = build(parents)
    _refuse_unless(found.height < DEEPEST, f"the tree would be deeper than {DEEPEST} levels")
    return found


def _refuse_taken(tree: Taxonomy, label: str) -> None:
    _refuse_unless(bool(label), "type a name for the group")
    _refuse_unless(label not in tree.node_of, "the tree has a value or group of that name already")


def _refuse_unless(fine: bool, text: str) -> None:
    if not fine:
        raise TaxonomyError(text)
