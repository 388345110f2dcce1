"""Step 3: how may it be shown? The steps, ends and trees of the columns that others may know."""

import contextlib
import re
import zlib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData

from covey import html
from covey.errors import SchemaError, UsageError
from covey.html import Html, Part, element
from covey.inspection.findings import Finding
from covey.schema import BELONGS_TO, Column, ColumnType
from covey.schema.labels import STEPS
from covey.schema.taxonomy import ROOT, Taxonomy
from covey.studio import scales, trees, ui
from covey.studio.columns import Appearance, Branches
from covey.studio.pages import shown_scale, shown_tree
from covey.studio.session import Studio, bytes_of, is_whole, number, text_of, whole
from covey.studio.steps import BLOCKED, DONE, NEXT, Step

STARS = (0.5, 1.0, 2.0, 4.0, 8.0)  # the weights of one star, two stars and so on
_WORDS = ui.WORDS["shown"]


async def _page(studio: Studio) -> Part:
    title, names = _WORDS["title"], list(studio.schema.quasi)
    if not names:
        return ui.nothing_known(title)
    cards = [await _card(studio, name) for name in names]
    button = ui.button("These are right →", kind="main")
    confirm = ui.form("shown/confirm", button, class_="onwards")
    jumps = _jumps(studio, names) if len(names) > 3 else None
    return ui.heading(title, _WORDS["lead"]), jumps, confirm, cards, confirm


def _jumps(studio: Studio, names: list[str]) -> Html:
    links = (
        html.a(html.bdi(name), href=f"#column-{studio.place(name)}", class_="jump")
        for name in names
    )
    return element("nav", ui.items(links), class_="jumps", aria_label="Columns")


async def _look(studio: Studio, name: str) -> Appearance:
    """How a column would look under its settings, worked out once for each of them."""
    column = studio.schema.columns[name]
    key, made_of = f"shown {studio.place(name)}", (studio.table.reading.number, column, studio.k)
    look = studio.result(key, made_of, Appearance)
    if look is None:
        look = await studio.ask("appearance", name, column, studio.k)
        studio.keep(key, made_of, look)
    return look


async def _card(studio: Studio, name: str) -> Html:
    place, column = studio.place(name), studio.schema.columns[name]
    look = await _look(studio, name)
    if look.scale is not None:
        inside = shown_scale.controls(place, column, look.scale, _picture(studio, place, column))
    elif look.branches is not None:
        inside = shown_tree.controls(place, column, look.branches, _sought(studio, place))
    else:
        inside = html.div()
    assert column.type is not None
    return ui.card(
        (html.bdi(name), " ", html.span(_WORDS["kinds"][column.type], class_="kind")),
        _examples(studio, place, name, look),
        inside,
        _common(place, name, column, look),
        class_="card shown",
        id=f"column-{place}",
    )


def _examples(studio: Studio, place: int, name: str, look: Appearance) -> Html:
    """Examples of cells, and what is doubtful about the settings."""
    examples = (
        (
            html.span(html.bdi(" and ".join(example.values)), class_="before"),
            html.span(" → ", aria_label="becomes"),
            html.strong(html.bdi(example.shown)),
            None if example.shown.strip(ROOT) else " (any value)",
        )
        for example in look.examples[:3]
    )
    notes = [html.li(note.text, class_=note.kind) for note in look.notes]
    notes += [
        html.li(ui.sentence(finding.text), class_="mind") for finding in _findings(studio, name)
    ]
    return html.div(
        ui.items(examples, class_="samples", aria_label=f"examples of {name}"),
        html.ul(notes, class_="lint") if notes else None,
        id=f"told-{place}",
    )


def _findings(studio: Studio, name: str) -> Iterator[Finding]:
    """What the draft found about the labels, unless it is mended."""
    column = studio.schema.columns[name]
    for finding in studio.table.draft.findings:
        if finding.column == name and finding.kind in ("alike", "typos") and not column.normalise:
            yield finding


def _picture(studio: Studio, place: int, column: Column) -> Html:
    """The distribution with its cuts; its address changes whenever the picture does."""
    state = zlib.crc32(repr(column).encode())
    address = f"shown/piece/cuts?column={place}&read={studio.table.reading.number}&state={state}"
    return ui.later(address, "picture", class_="later cuts", id=f"cuts-{place}")


# ── what all columns have ───────────────────────────────────────────────────────────────────────


def _common(place: int, name: str, column: Column, look: Appearance) -> Html:
    policy = ui.chosen_from(
        "missing", _WORDS["policies"].items(), column.missing, id=f"missing-{place}"
    )
    missing = f"A missing cell ({look.missing:,})" if look.missing else "A missing cell"
    return html.div(
        _settings(place, ui.labelled(missing, policy)),
        _stars(place, name, column.weight),
        _more(place, column),
        class_="common",
    )


def _settings(place: int, *inside: Part, class_: str | None = None) -> Html:
    """A form of settings that every column has."""
    return ui.form("shown/set", ui.hidden("column", place), *inside, live=True, class_=class_)


def _stars(place: int, name: str, weight: float) -> Html:
    """The importance of a column: how much more a lost cell costs here than elsewhere."""
    choices = (
        ui.choice(
            "weight", f"{each:g}",
            html.span("★", aria_hidden="true", class_=f"star{' on' * (each <= weight)}"),
            html.span(f"{stars} of {len(STARS)}", class_="unseen"),
            on=each == weight, id=f"star-{place}-{stars}",
        )
        for stars, each in enumerate(STARS, 1)
    )  # fmt: skip
    legend = element(
        "legend", "Importance", html.span(f" of {name}", class_="unseen"), class_="label"
    )
    note = f"keep it {weight:g} times as exact" if weight != 1 else "like others"
    parts = legend, html.span(choices), html.span(note, class_="note")
    return _settings(place, element("fieldset", parts, class_="stars"))


def _more(place: int, column: Column) -> Html:
    """What is rarely changed."""
    kind = ui.chosen_from("type", _WORDS["kinds"].items(), str(column.type), id=f"type-{place}")
    weight = ui.typed("weight", f"{column.weight:g}", id=f"weight-{place}")
    parts: list[Part] = [ui.labelled("The column holds", kind), ui.labelled("Weight", weight)]
    if column.type is ColumnType.DATE:
        written = ui.typed(
            "format", column.format or "", id=f"format-{place}", placeholder="%d.%m.%Y"
        )
        parts.append(ui.labelled("Dates are written", written, note="Empty: 2024-05-31"))
    if column.is_ordered:
        what = "date" if column.type is ColumnType.DATE else "number"
        sent, name, on = "cells", "unreadable", column.unreadable == "missing"
        text = f"A cell that is no {what} counts as missing"
    else:
        sent, name, on = "labels", "normalise", bool(column.normalise)
        text = "Labels that look the same are the same (m, M, “ m”)"
    parts += [ui.hidden(sent, "yes"), ui.ticked(name, text, on=on, id=f"{name}-{place}")]
    back = ui.push("shown/propose", "Back to covey's proposal", kind="quiet", column=place)
    settings = _settings(place, *parts, class_="chips")
    return ui.details("More", settings, back, id=f"more-{place}")


# ── actions ─────────────────────────────────────────────────────────────────────────────────────


def _column(studio: Studio, sent: Any) -> str:
    """The quasi-identifier that a form is about."""
    name = studio.column(sent)
    if name not in studio.schema.quasi:
        raise UsageError("this column is not one that others may know")
    return name


async def _set(studio: Studio, sent: FormData) -> None:
    """Settings that all columns have; a form sends some of them."""
    name = _column(studio, sent)
    kind = text_of(sent, "type")
    if kind and kind != studio.schema.columns[name].type:
        _retype(studio, name, kind)
        return
    settings: dict[str, Any] = {}
    if "missing" in sent:
        settings["missing"] = text_of(sent, "missing")
    if "weight" in sent:
        settings["weight"] = number(sent, "weight", "the weight")
    if "format" in sent:
        settings["format"] = text_of(sent, "format") or None
    if "labels" in sent:
        settings["normalise"] = STEPS if "normalise" in sent else None
    if "cells" in sent:
        settings["unreadable"] = "missing" if "unreadable" in sent else None
    studio.set(name, **settings)


_OF_A_TYPE = ("grid", "bottom", "top", *BELONGS_TO)


def _retype(studio: Studio, name: str, kind: str) -> None:
    """Read the column as another type: as drafted, if the draft is of that type."""
    if kind not in list(ColumnType):
        raise UsageError("there is no such type")
    drafted = studio.table.schema.columns[name]
    settings: dict[str, Any] = dict.fromkeys(_OF_A_TYPE)
    if drafted.type == kind:
        settings |= {setting: getattr(drafted, setting) for setting in _OF_A_TYPE}
    studio.set(name, type=ColumnType(kind), **settings)


async def _propose(studio: Studio, sent: FormData) -> None:
    """Go back to what covey drafts."""
    name = _column(studio, sent)
    drafted = studio.table.schema.columns[name]
    if name not in studio.table.schema.quasi:
        drafted = await studio.ask("drafted", name, studio.k)
    names = {*type(drafted).model_fields} - {"role"}
    studio.set(name, **{setting: getattr(drafted, setting) for setting in names})


_SLIDERS: Mapping[str, Any] = {
    "grid": scales.grids,
    "bottom": scales.bottoms,
    "top": scales.tops,
}


async def _slide(studio: Studio, sent: FormData) -> None:
    name = _column(studio, sent)
    look, column = await _look(studio, name), studio.schema.columns[name]
    which, place = text_of(sent, "which"), whole(sent, "position", "the position")
    if look.scale is None or which not in _SLIDERS:
        raise UsageError("there is nothing to slide")
    values = _SLIDERS[which](look.scale, column)
    if place >= len(values):
        raise UsageError("the position is beyond the end")
    if place != scales.position(values, getattr(column, which)):
        schema = studio.schema.with_settings(name, **{which: values[place]})
        studio.history.move(f"{which} of {name}", schema=schema)


async def _scale(studio: Studio, sent: FormData) -> None:
    """The step, the ends and the domain as typed."""
    name = _column(studio, sent)
    is_date = studio.schema.columns[name].type is ColumnType.DATE
    low, high = (_bound(sent, which, is_date=False) for which in ("least", "most"))
    if (low is None) is not (high is None):
        raise UsageError("type both ends of the domain, or none")
    grid: Any = text_of(sent, "grid") or None
    studio.set(
        name,
        grid=grid if is_date or grid is None else number(sent, "grid", "the step"),
        bottom=_bound(sent, "bottom", is_date=is_date),
        top=_bound(sent, "top", is_date=is_date),
        domain=None if low is None else (low, high),
        render=text_of(sent, "render") or None,
    )


def _bound(sent: FormData, which: str, *, is_date: bool) -> float | date | None:
    given = text_of(sent, which)
    if not given:
        return None
    if not is_date:
        return number(sent, which, "an end")
    with contextlib.suppress(ValueError):
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", given):
            return date.fromisoformat(given)
    raise UsageError("an end must be a date such as 1990-01-31")


# ── trees ───────────────────────────────────────────────────────────────────────────────────────


async def _branches(studio: Studio, name: str) -> Branches:
    branches = (await _look(studio, name)).branches
    if branches is None:
        raise UsageError("this column has no tree")
    return branches


def _plant(studio: Studio, name: str, tree: Taxonomy) -> None:
    """Write a tree into the schema."""
    studio.set(name, taxonomy=tree.nested())


async def _tree(studio: Studio, sent: FormData) -> None:
    """Change the tree by hand, or look for values in it."""
    name = _column(studio, sent)
    change = text_of(sent, "do")
    if change == "find":
        studio.keep(
            f"find {studio.place(name)}", studio.table.reading.number, text_of(sent, "find")
        )
        return
    branches = await _branches(studio, name)
    tree, label = branches.tree, text_of(sent, "label")
    if text_of(sent, "of") != shown_tree.digest(tree):
        raise SchemaError("the tree has changed in the meantime: look again")
    nodes = _numbers(sent, "value")
    if any(node > tree.root for node in nodes):
        raise UsageError("there is no such value")
    match change:
        case "move":
            tree = trees.moved(tree, nodes, min(whole(sent, "node", "the group"), tree.root))
        case "group":
            tree = trees.grouped(tree, nodes, label)
        case "rename":
            tree = trees.renamed(tree, nodes, label)
        case "dissolve":
            tree = trees.dissolved(tree, nodes)
        case "complete":
            tree = trees.completed(tree, branches.lacking)
        case _:
            raise UsageError("there is no such change")
    _plant(studio, name, tree)


def _numbers(sent: FormData, name: str) -> list[int]:
    """The numbers of the boxes that are ticked."""
    given = (value for value in sent.getlist(name) if isinstance(value, str))
    return [int(value) for value in given if is_whole(value)]


def _sought(studio: Studio, place: int) -> str:
    return studio.result(f"find {place}", studio.table.reading.number, str) or ""


async def _build(studio: Studio, sent: FormData) -> None:
    """Build the tree in another way."""
    name = _column(studio, sent)
    how = text_of(sent, "build")
    if how == "own":
        _plant(studio, name, (await _branches(studio, name)).tree)
        return
    builder: dict[str, Any] = {"build": how}
    if how == "prefixes" and "lengths" in sent:
        builder["lengths"] = sorted(_numbers(sent, "length"))
    if how == "intervals":
        widths = re.split(r"[;\s]+|,\s+", text_of(sent, "widths") or "5 10 20")
        try:
            builder["widths"] = [float(width) for width in widths if width]
        except ValueError:
            raise UsageError("widths must be numbers, such as 5 10 20") from None
        builder["origin"] = number(sent, "origin", "the beginning") if "origin" in sent else 0
    studio.set(name, taxonomy=None if how == "flat" else builder)


async def _read(studio: Studio, sent: FormData) -> None:
    """Take the tree from a file in ARX's format."""
    name, data = _column(studio, sent), await bytes_of(sent, "tree")

    async def copy(path: Path) -> None:
        path.write_bytes(data)
        path.chmod(0o600)

    source = await studio.upload("tree.csv", copy)
    try:
        tree = await studio.reader.ask("tree_file", source.place)
    finally:
        Path(source.place).unlink()
    _plant(studio, name, tree)
    studio.tell(f"The tree of {name} was read.", "good")


async def _write(studio: Studio, sent: FormData) -> str:
    """Write the tree to a file in ARX's format, and lead to it."""
    name = _column(studio, sent)
    branches = await _branches(studio, name)
    path = studio.folder / f"tree-{studio.place(name) + 1}.csv"
    branches.tree.write_arx(path)
    path.chmod(0o600)
    studio.files[path.name] = path
    return f"files/{path.name}"


async def _confirmed(studio: Studio, _: FormData) -> str:
    if not studio.schema.quasi:
        raise UsageError("choose at least one column that others may know")
    studio.history.change(checked=studio.work.checked | {"shown"})
    return "price"


async def _cuts(studio: Studio, query: Mapping[str, str]) -> Part:
    name = _column(studio, query)
    svg = await studio.ask("cuts", name, studio.schema.columns[name])
    return html.figure(svg, f"values of {name} and where they are cut") if svg else ""


def _state(studio: Studio) -> str:
    if not studio.schema.quasi:
        return BLOCKED
    return DONE if "shown" in studio.work.checked else NEXT


STEP = Step(
    "shown",
    "How may it be shown?",
    _page,
    _state,
    {
        "set": _set,
        "propose": _propose,
        "slide": _slide,
        "scale": _scale,
        "tree": _tree,
        "build": _build,
        "read": _read,
        "write": _write,
        "confirm": _confirmed,
    },
    {"cuts": _cuts},
)
