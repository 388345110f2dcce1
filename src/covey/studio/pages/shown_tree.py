"""The controls of categories: their tree, what builds it, and what changes it by hand.

A tree may have thousands of values. The page shows the first ones of each group; the others are
found by their names.
"""

import zlib
from collections.abc import Iterator

from covey.errors import count
from covey.html import Html, Part, element
from covey.schema import Column, TaxonomyBuilder
from covey.schema.taxonomy import ROOT, Taxonomy
from covey.studio.columns import Branches
from covey.studio.steps import button, chosen_from, form, hidden, labelled, ticked, typed

_MOST_LINES = 400  # of a tree
_MOST_IN_A_GROUP = 40
_MOST_FOUND = 100
_MOST_GROUPS = 300  # in a list to choose from
_OPEN = 60  # values up to which all groups are unfolded

_BUILDERS = {
    "flat": "no groups",
    "prefixes": "beginnings of codes",
    "intervals": "ranges of numbers",
    "dates": "months, quarters and years",
    "own": "own groups",
}


def digest(tree: Taxonomy) -> str:
    """A number that says which tree a form is about."""
    return str(zlib.crc32("\0".join([*tree.labels, *map(str, tree.parent)]).encode()))


def controls(place: int, column: Column, branches: Branches, sought: str) -> Html:
    """The tree, and what can be done with it."""
    return element(
        "div",
        _by_hand(place, branches, sought),
        element("div", _built(place, column, branches.tree), _file(place), class_="built"),
        _drag_form(place, branches.tree),
        class_="tree-card",
    )


def _how(column: Column) -> str:
    match column.taxonomy:
        case None:
            return "flat"
        case TaxonomyBuilder():
            return column.taxonomy.build
        case _:
            return "own"


# ── built ───────────────────────────────────────────────────────────────────────────────────────


def _built(place: int, column: Column, tree: Taxonomy) -> Html:
    """How the tree is built, and the settings of the builder."""
    how = _how(column)
    parts: list[Part] = [
        labelled("Groups", chosen_from("build", _BUILDERS.items(), how, id=f"build-{place}"))
    ]
    builder = column.taxonomy if isinstance(column.taxonomy, TaxonomyBuilder) else None
    if builder is not None and how == "prefixes":
        parts.append(_lengths(place, builder, tree))
    if builder is not None and how == "intervals":
        widths = " ".join(f"{width:g}" for width in builder.widths)
        parts.append(
            labelled("Widths", typed("widths", widths, id=f"widths-{place}"),
                     note="each a multiple of the one before")
        )  # fmt: skip
        parts.append(
            labelled("Beginning at", typed("origin", f"{builder.origin:g}", id=f"origin-{place}"))
        )
    return form("shown/build", hidden("column", place), *parts, live=True)


def _lengths(place: int, builder: TaxonomyBuilder, tree: Taxonomy) -> Html:
    """The beginnings of codes that may be shown, each with an example."""
    example = max(tree.leaves, key=len, default="")
    ticks = (
        ticked("length", element("code", example[:length] + "*" * (len(example) - length)),
               on=builder.lengths is None or length in builder.lengths, value=str(length),
               id=f"length-{place}-{length}")
        for length in range(len(example) - 1, 0, -1)
    )  # fmt: skip
    legend = element("legend", "Shown beginnings", class_="label")
    return element("fieldset", legend, hidden("lengths", "yes"), *ticks, class_="lengths")


def _file(place: int) -> Html:
    """Trees from files and to files, in the format of ARX."""
    read = form(
        "shown/read",
        hidden("column", place),
        labelled(
            "Read a tree from a file",
            element("input", type="file", name="file", accept=".csv,.txt", required=True,
                    id=f"tree-file-{place}"),
            note="CSV as ARX writes it: value;group;…;*",
        ),
        button("Read", label="read the tree"),
        upload=True,
    )  # fmt: skip
    # The answer is a file, so the browser sends this form itself.
    write = element(
        "form",
        hidden("column", place),
        button("Write the tree to a file", kind="quiet"),
        action="shown/write",
        method="post",
        data_plain=True,
    )
    return element("details", element("summary", "Files"), read, write, id=f"files-{place}")


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────


def _drag_form(place: int, tree: Taxonomy) -> Html:
    """What a value that is dropped on a group sends."""
    sent = {"column": place, "of": digest(tree), "do": "move", "value": "", "node": ""}
    return form("shown/tree", *(hidden(name, value) for name, value in sent.items()),
                id=f"drag-{place}")  # fmt: skip


def _by_hand(place: int, branches: Branches, sought: str) -> Html:
    tree = branches.tree
    lister = _Lister(place, branches, sought)
    shown = element("ul", *lister.lines(), class_="tree")
    return form(
        "shown/tree",
        hidden("column", place),
        hidden("of", digest(tree)),
        _find(place, tree, sought),
        element("div", shown, class_="branches", tabindex="0", role="group",
                aria_label="tree of values"),
        _tools(place, lister),
        _lacking(branches),
        class_="by-hand",
        id=f"tree-{place}",
    )  # fmt: skip


def _find(place: int, tree: Taxonomy, sought: str) -> Html | None:
    if tree.leaf_count <= _MOST_IN_A_GROUP and not sought:
        return None
    field = typed("find", sought, id=f"find-{place}", kind="search", label="find values",
                  placeholder=f"Find among {tree.leaf_count:,} values")  # fmt: skip
    return element("div", field, button("Find", name="do", value="find"), class_="row find")


def _tools(place: int, lister: "_Lister") -> Html:
    """What can be done with the ticked values: all of it works with the keyboard."""
    tree = lister.tree
    groups = list(range(tree.root, tree.leaf_count - 1, -1))[:_MOST_GROUPS]
    options = ((str(node), _named(tree.labels[node])) for node in groups)
    move = element(
        "div",
        chosen_from("node", options, "", id=f"node-{place}", label="group to move to"),
        button("Move there", name="do", value="move"),
        class_="row",
    )
    group = element(
        "div",
        typed("label", id=f"label-{place}", label="name of a group", placeholder="Name of a group"),
        button("New group", name="do", value="group"),
        button("Rename", name="do", value="rename", kind="quiet"),
        button("Dissolve", name="do", value="dissolve", kind="quiet"),
        class_="row",
    )
    told = element("p", "Tick values, then move them or make a group of them. You can also drag "
                   "one onto a group.", class_="note")  # fmt: skip
    return element("div", told, move, group, class_="tools")


def _lacking(branches: Branches) -> Html | None:
    if not branches.lacking:
        return None
    text = f"Add {count(len(branches.lacking), 'value')} to the tree"
    return element("p", button(text, name="do", value="complete"))


def _named(label: str) -> str:
    """The label of a group; stars alone need a word."""
    return label if label.strip(ROOT) else f"{label} (any value)"


class _Lister:
    """The lines of a tree, as many as fit on a page."""

    def __init__(self, place: int, branches: Branches, sought: str) -> None:
        self.tree, self._rows, self._place = branches.tree, branches.rows, place
        self._sought = sought.casefold()
        self._below: dict[int, list[int]] = {}
        for node in range(self.tree.root):
            self._below.setdefault(int(self.tree.parent[node]), []).append(node)
        for nodes in self._below.values():  # in the order of the leaves
            nodes.sort(key=lambda node: int(self.tree.first_leaf[node]))

    def lines(self) -> Iterator[Html]:
        """The whole tree from its root, or only what is sought."""
        if self._sought:
            yield from self._found()
        else:
            yield self._line(self.tree.root, _MOST_LINES)

    def _found(self) -> Iterator[Html]:
        labels = self.tree.labels
        found = [node for node in range(self.tree.root) if self._sought in labels[node].casefold()]
        for node in found[:_MOST_FOUND]:
            above = labels[int(self.tree.parent[node])]
            yield self._leaf(node, element("span", f" in {above}", class_="quiet"))
        if len(found) > _MOST_FOUND:
            yield element("li", f"and {len(found) - _MOST_FOUND:,} more", class_="quiet")
        if not found:
            yield element("li", "No value has this in it.", class_="quiet")

    def _line(self, node: int, room: int) -> Html:
        if node < self.tree.leaf_count:
            return self._leaf(node)
        children = self._below.get(node, [])  # none if every cell is missing
        shown = children[: max(min(len(children), _MOST_IN_A_GROUP, room), 0)]
        each = (room - len(shown)) // len(shown) if shown else 0
        lines = [self._line(child, each) for child in shown]
        if len(shown) < len(children):
            more = f"and {len(children) - len(shown):,} more"
            lines.append(element("li", more, class_="quiet"))
        label = self.tree.labels[node]
        unfolded = node == self.tree.root or self.tree.leaf_count <= _OPEN
        folder = element(
            "details",
            element("summary", element("strong", element("bdi", _named(label))), self._size(node)),
            element("ul", *lines),
            open=unfolded,
            id=f"node-{self._place}-{zlib.crc32(label.encode())}",
        )
        return element(
            "li",
            self._tick(node) if node != self.tree.root else None,
            folder,
            class_="branch",
            data_takes=str(node),
            data_form=f"drag-{self._place}",
            draggable="true" if node != self.tree.root else None,
            data_drags=str(node) if node != self.tree.root else None,
        )

    def _leaf(self, node: int, more: Part = None) -> Html:
        box = element("input", type="checkbox", name="value", value=str(node))
        name = element("bdi", self.tree.labels[node])
        label = element("label", box, element("span", name, self._size(node), more))
        return element("li", label, draggable="true", data_drags=str(node), class_="leaf")

    def _tick(self, node: int) -> Html:
        return element("input", type="checkbox", name="value", value=str(node),
                       aria_label=f"choose {self.tree.labels[node]}")  # fmt: skip

    def _size(self, node: int) -> Html:
        return element("span", f" {self._rows[node]:,}", class_="quiet small")
