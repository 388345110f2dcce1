"""The controls of categories: their tree, what builds it, and what changes it by hand.

A tree may have thousands of values. The page shows the first ones of each group; the others are
found by their names.
"""

import zlib
from collections.abc import Iterator

from covey import html
from covey.errors import count
from covey.html import Html, Part, element
from covey.schema import Column, TaxonomyBuilder
from covey.schema.taxonomy import ROOT, Taxonomy
from covey.studio import ui
from covey.studio.columns import Branches

_MOST_LINES = 400  # of a tree
_MOST_IN_A_GROUP = 40
_MOST_FOUND = 100
_MOST_GROUPS = 300  # in a list to choose from
_OPEN = 60  # values up to which all groups are unfolded


def digest(tree: Taxonomy) -> str:
    """A number that says which tree a form is about."""
    return str(zlib.crc32("\0".join([*tree.labels, *map(str, tree.parent)]).encode()))


def controls(place: int, column: Column, branches: Branches, sought: str) -> Html:
    """The tree, and what can be done with it."""
    return html.div(
        _by_hand(place, branches, sought),
        html.div(_built(place, column, branches.tree), _file(place), class_="built"),
        _drag_form(place, branches.tree),
        class_="tree-card",
    )


# ── built ───────────────────────────────────────────────────────────────────────────────────────


def _built(place: int, column: Column, tree: Taxonomy) -> Html:
    """How the tree is built, and the settings of the builder."""
    builder = column.taxonomy if isinstance(column.taxonomy, TaxonomyBuilder) else None
    how = "flat" if column.taxonomy is None else "own" if builder is None else builder.build
    groups = ui.chosen_from(
        "build", ui.WORDS["shown"]["builders"].items(), how, id=f"build-{place}"
    )
    parts: list[Part] = [ui.labelled("Groups", groups)]
    if builder is not None and how == "prefixes":
        parts.append(_lengths(place, builder, tree))
    if builder is not None and how == "intervals":
        widths = " ".join(f"{width:g}" for width in builder.widths)
        note = "each a multiple of the one before"
        field = ui.typed("widths", widths, id=f"widths-{place}")
        origin = ui.typed("origin", f"{builder.origin:g}", id=f"origin-{place}")
        parts += [ui.labelled("Widths", field, note=note), ui.labelled("Beginning at", origin)]
    return ui.form("shown/build", ui.hidden("column", place), parts, live=True)


def _lengths(place: int, builder: TaxonomyBuilder, tree: Taxonomy) -> Html:
    """The beginnings of codes that may be shown, each with an example."""
    example = max(tree.leaves, key=len, default="")
    ticks = (
        ui.ticked("length", html.code(example[:length] + "*" * (len(example) - length)),
                  on=builder.lengths is None or length in builder.lengths, value=str(length),
                  id=f"length-{place}-{length}")
        for length in range(len(example) - 1, 0, -1)
    )  # fmt: skip
    legend = element("legend", "Shown beginnings", class_="label")
    return element("fieldset", legend, ui.hidden("lengths", "yes"), ticks, class_="lengths")


def _file(place: int) -> Html:
    """Trees from files and to files, in the format of ARX."""
    column = ui.hidden("column", place)
    file = ui.file(f"tree-file-{place}", accept=".csv,.txt")
    note = "CSV as ARX writes it: value;group;…;*"
    field = ui.labelled("Read a tree from a file", file, note=note)
    read = ui.form(
        "shown/read", column, field, ui.button("Read", label="read the tree"), upload=True
    )
    # The answer is a file, so the browser sends this form itself.
    button = ui.button("Write the tree to a file", kind="quiet")
    write = ui.form("shown/write", column, button, data_plain=True)
    return ui.details("Files", read, write, id=f"files-{place}")


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────


def _drag_form(place: int, tree: Taxonomy) -> Html:
    """What a value that is dropped on a group sends."""
    sent = {"column": place, "of": digest(tree), "do": "move", "value": "", "node": ""}
    fields = (ui.hidden(name, value) for name, value in sent.items())
    return ui.form("shown/tree", fields, id=f"drag-{place}")


def _by_hand(place: int, branches: Branches, sought: str) -> Html:
    tree = branches.tree
    lines = html.ul(_Lister(place, branches, sought).lines(), class_="tree")
    return ui.form(
        "shown/tree",
        ui.hidden("column", place),
        ui.hidden("of", digest(tree)),
        _find(place, tree, sought),
        html.div(lines, class_="branches", tabindex="0", role="group", aria_label="tree of values"),
        _tools(place, tree),
        _lacking(branches),
        class_="by-hand",
        id=f"tree-{place}",
    )


def _do(text: str, change: str, kind: str = "") -> Html:
    """A button that changes the tree."""
    return ui.button(text, name="do", value=change, kind=kind)


def _find(place: int, tree: Taxonomy, sought: str) -> Html | None:
    if tree.leaf_count <= _MOST_IN_A_GROUP and not sought:
        return None
    field = ui.typed(
        "find", sought, id=f"find-{place}", kind="search", label="find values",
        placeholder=f"Find among {tree.leaf_count:,} values",
    )  # fmt: skip
    return html.div(field, _do("Find", "find"), class_="row find")


def _tools(place: int, tree: Taxonomy) -> Html:
    """What can be done with the ticked values: all of it works with the keyboard."""
    groups = list(range(tree.root, tree.leaf_count - 1, -1))[:_MOST_GROUPS]
    options = ((str(node), _named(tree.labels[node])) for node in groups)
    target = ui.chosen_from("node", options, "", id=f"node-{place}", label="group to move to")
    name = ui.typed(
        "label", id=f"label-{place}", label="name of a group", placeholder="Name of a group"
    )
    return html.div(
        html.p(
            "Tick values, then move them or make a group of them. You can also drag one onto a "
            "group.",
            class_="note",
        ),
        ui.row(target, _do("Move there", "move")),
        ui.row(
            name,
            _do("New group", "group"),
            _do("Rename", "rename", "quiet"),
            _do("Dissolve", "dissolve", "quiet"),
        ),
        class_="tools",
    )


def _lacking(branches: Branches) -> Html | None:
    if not branches.lacking:
        return None
    return html.p(_do(f"Add {count(len(branches.lacking), 'value')} to the tree", "complete"))


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
            yield self._leaf(node, html.span(f" in {above}", class_="quiet"))
        if len(found) > _MOST_FOUND:
            yield _quiet(f"and {len(found) - _MOST_FOUND:,} more")
        if not found:
            yield _quiet("No value has this in it.")

    def _line(self, node: int, room: int) -> Html:
        if node < self.tree.leaf_count:
            return self._leaf(node)
        children = self._below.get(node, [])  # none if every cell is missing
        shown = children[: max(min(len(children), _MOST_IN_A_GROUP, room), 0)]
        each = (room - len(shown)) // len(shown) if shown else 0
        lines = [self._line(child, each) for child in shown]
        if len(shown) < len(children):
            lines.append(_quiet(f"and {len(children) - len(shown):,} more"))
        label, is_root = self.tree.labels[node], node == self.tree.root
        folder = ui.details(
            (html.strong(html.bdi(_named(label))), self._size(node)),
            html.ul(lines),
            is_open=is_root or self.tree.leaf_count <= _OPEN,
            id=f"node-{self._place}-{zlib.crc32(label.encode())}",
        )
        return html.li(
            None if is_root else _tick(node, f"choose {label}"),
            folder,
            class_="branch",
            data_takes=str(node),
            data_form=f"drag-{self._place}",
            draggable=None if is_root else "true",
            data_drags=None if is_root else str(node),
        )

    def _leaf(self, node: int, more: Part = None) -> Html:
        name = html.span(html.bdi(self.tree.labels[node]), self._size(node), more)
        label = element("label", _tick(node), name)
        return html.li(label, draggable="true", data_drags=str(node), class_="leaf")

    def _size(self, node: int) -> Html:
        return html.span(f" {self._rows[node]:,}", class_="quiet small")


def _tick(node: int, label: str | None = None) -> Html:
    return element("input", type="checkbox", name="value", value=str(node), aria_label=label)


def _quiet(text: str) -> Html:
    return html.li(text, class_="quiet")
