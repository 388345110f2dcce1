"""Step 3: how may it be shown? The steps, ends and trees of the columns that others may know."""

import re
import zlib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile

from covey.errors import SchemaError, UsageError
from covey.html import Html, element, figure, together
from covey.inspection.findings import Finding
from covey.schema import BELONGS_TO, Column, ColumnType, MissingPolicy
from covey.schema.labels import STEPS
from covey.schema.taxonomy import ROOT, Taxonomy
from covey.studio import scales, trees
from covey.studio.columns import Appearance
from covey.studio.pages import shown_scale, shown_tree
from covey.studio.session import Result, Studio, number, text_of, whole
from covey.studio.steps import (
    BLOCKED,
    DONE,
    NEXT,
    Step,
    button,
    chosen_from,
    form,
    heading,
    hidden,
    labelled,
    later,
    nothing_known,
    push,
    sentence,
    ticked,
    typed,
)

STARS = (0.5, 1.0, 2.0, 4.0, 8.0)  # the weights of one star, two stars and so on
_KINDS = {
    ColumnType.NUMERIC: "numbers",
    ColumnType.DATE: "dates",
    ColumnType.CATEGORICAL: "categories",
}
_POLICIES = {
    MissingPolicy.CATEGORY: "is a value like any other",
    MissingPolicy.WILDCARD: "shows the values of its group",
    MissingPolicy.DROP_ROW: "leaves its row out",
    MissingPolicy.ERROR: "must not occur: refuse the table",
}
_LARGEST_TREE = 20 * 1024**2  # bytes of a file


async def page(studio: Studio) -> Html:
    """The page of the step."""
    title = "How may it be shown?"
    if not studio.schema.quasi:
        return nothing_known(title)
    cards = [await _card(studio, name) for name in studio.schema.quasi]
    lead = (
        "covey groups similar people and shows the same cell for all of a group. Here you decide "
        "how coarse a cell is at least, and which values belong together."
    )
    onwards = form("shown/confirm", button("These are right →", kind="main"), class_="onwards")
    return together((heading(title, lead), _jumps(studio), onwards, *cards, onwards))


def _jumps(studio: Studio) -> Html | None:
    names = list(studio.schema.quasi)
    if len(names) < 4:
        return None
    places = studio.table.names
    links = (
        element(
            "li",
            element("a", element("bdi", name), href=f"#column-{places.index(name)}", class_="jump"),
        )
        for name in names
    )
    return element("nav", element("ul", *links), class_="jumps", aria_label="Columns")


async def _look(studio: Studio, name: str) -> Appearance:
    """How a column would look under its settings, worked out once for each of them."""
    column, k = studio.schema.columns[name], studio.schema.require.k or studio.table.draft.k
    key, made_of = f"shown {_place(studio, name)}", (studio.table.number, column, k)
    found: Appearance | None = studio.result(key, made_of)
    if found is None:
        found = await studio.ask("appearance", name, column, k)
        studio.results[key] = Result(made_of, found)
    return found


def _place(studio: Studio, name: str) -> int:
    return studio.table.names.index(name)


async def _card(studio: Studio, name: str) -> Html:
    place, column, look = (
        _place(studio, name),
        studio.schema.columns[name],
        await _look(studio, name),
    )
    if look.scale is not None:
        inside = shown_scale.controls(place, column, look.scale, _picture(studio, place, column))
    elif look.branches is not None:
        inside = shown_tree.controls(place, column, look.branches, _sought(studio, place))
    else:
        inside = element("div")
    assert column.type is not None
    kind = element("span", _KINDS[column.type], class_="kind")
    return element(
        "section",
        element("h2", element("bdi", name), " ", kind),
        _told(studio, place, name, look),
        inside,
        _common(place, name, column, look),
        class_="card shown",
        id=f"column-{place}",
    )


def _told(studio: Studio, place: int, name: str, look: Appearance) -> Html:
    """Samples of cells, and what is doubtful about the settings."""
    samples = (
        element(
            "li",
            element("span", element("bdi", " and ".join(sample.values)), class_="before"),
            element("span", " → ", aria_label="becomes"),
            element("strong", element("bdi", sample.shown)),
            None if sample.shown.strip(ROOT) else " (any value)",
        )
        for sample in look.samples[:3]
    )
    notes = [element("li", note.text, class_=note.kind) for note in look.notes]
    notes += [element("li", sentence(found.text), class_="mind")
              for found in _found(studio, name)]  # fmt: skip
    return element(
        "div",
        element("ul", *samples, class_="samples", aria_label=f"examples of {name}"),
        element("ul", *notes, class_="lint") if notes else None,
        id=f"told-{place}",
    )


def _found(studio: Studio, name: str) -> Iterator[Finding]:
    """What the draft found about the labels, unless it is mended."""
    column = studio.schema.columns[name]
    for found in studio.table.draft.findings:
        if found.column == name and found.kind in ("alike", "typos") and not column.normalise:
            yield found


def _picture(studio: Studio, place: int, column: Column) -> Html:
    """The distribution with its cuts; its address changes whenever the picture does."""
    state = zlib.crc32(repr(column).encode())
    address = f"shown/piece/cuts?column={place}&read={studio.table.number}&state={state}"
    return later(address, "picture", class_="later cuts", id=f"cuts-{place}")


# ── what all columns have ───────────────────────────────────────────────────────────────────────


def _common(place: int, name: str, column: Column, look: Appearance) -> Html:
    missing = form(
        "shown/set",
        hidden("column", place),
        labelled(
            f"A missing cell ({look.missing:,})" if look.missing else "A missing cell",
            chosen_from("missing", _POLICIES.items(), column.missing, id=f"missing-{place}"),
        ),
        live=True,
    )
    return element(
        "div", missing, _stars(place, name, column.weight), _more(place, column), class_="common"
    )


def _stars(place: int, name: str, weight: float) -> Html:
    """The importance of a column: how much more a lost cell costs here than elsewhere."""
    choices = (
        element(
            "label",
            element("input", type="radio", name="weight", value=f"{each:g}", checked=each == weight,
                    id=f"star-{place}-{stars}"),
            element("span", "★", aria_hidden="true", class_=f"star{' on' * (each <= weight)}"),
            element("span", f"{stars} of {len(STARS)}", class_="unseen"),
        )
        for stars, each in enumerate(STARS, 1)
    )  # fmt: skip
    legend = element("legend", "Importance", element("span", f" of {name}", class_="unseen"),
                     class_="label")  # fmt: skip
    note = element("span", f"keep it {weight:g} times as exact" if weight != 1 else "like others",
                   class_="note")  # fmt: skip
    return form("shown/set", hidden("column", place),
                element("fieldset", legend, element("span", *choices), note, class_="stars"),
                live=True)  # fmt: skip


def _more(place: int, column: Column) -> Html:
    """What is rarely changed."""
    kinds = ((kind.value, text) for kind, text in _KINDS.items())
    parts = [
        labelled(
            "The column holds", chosen_from("type", kinds, str(column.type), id=f"type-{place}")
        ),
        labelled("Weight", typed("weight", f"{column.weight:g}", id=f"weight-{place}")),
    ]
    if column.type is ColumnType.DATE:
        parts.append(
            labelled("Dates are written", typed("format", column.format or "", id=f"format-{place}",
                     placeholder="%d.%m.%Y"), note="Empty: 2024-05-31")
        )  # fmt: skip
    if column.is_ordered:
        what = "date" if column.type is ColumnType.DATE else "number"
        parts.append(hidden("cells", "yes"))
        parts.append(
            ticked("unreadable", f"A cell that is no {what} counts as missing",
                   on=column.unreadable == "missing", id=f"unreadable-{place}")
        )  # fmt: skip
    else:
        parts.append(hidden("labels", "yes"))
        parts.append(
            ticked("normalise", "Labels that look the same are the same (m, M, “ m”)",
                   on=bool(column.normalise), id=f"normalise-{place}")
        )  # fmt: skip
    settings = form("shown/set", hidden("column", place), *parts, live=True, class_="chips")
    back = push("shown/propose", "Back to covey's proposal", kind="quiet", column=place)
    return element("details", element("summary", "More"), settings, back, id=f"more-{place}")


# ── actions ─────────────────────────────────────────────────────────────────────────────────────


def _change(studio: Studio, name: str, **settings: Any) -> None:
    studio.history.change(schema=studio.schema.with_settings(name, **settings))


def _asked(studio: Studio, sent: Any) -> str:
    """The quasi-identifier that a form is about."""
    name = studio.column(sent)
    if name not in studio.schema.quasi:
        raise UsageError("this column is not one that others may know")
    return name


async def _set(studio: Studio, sent: FormData) -> str | None:
    """Settings that all columns have; a form sends some of them."""
    name = _asked(studio, sent)
    column = studio.schema.columns[name]
    kind = text_of(sent, "type")
    if kind and kind != column.type:
        if kind not in list(ColumnType):
            raise UsageError("there is no such type")
        await _retype(studio, name, ColumnType(kind))
        return None
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
    _change(studio, name, **settings)
    return None


_OF_A_TYPE = ("grid", "bottom", "top", *BELONGS_TO)


async def _retype(studio: Studio, name: str, kind: ColumnType) -> None:
    """Read the column as another type: as drafted, if the draft is of that type."""
    drafted = studio.table.schema.columns[name]
    settings: dict[str, Any] = dict.fromkeys(_OF_A_TYPE)
    if drafted.type is kind:
        settings |= {one: getattr(drafted, one) for one in _OF_A_TYPE}
    _change(studio, name, type=kind, **settings)


async def _propose(studio: Studio, sent: FormData) -> str | None:
    """Go back to what covey drafts."""
    name = _asked(studio, sent)
    drafted = studio.table.schema.columns[name]
    if name not in studio.table.schema.quasi:
        drafted = await studio.ask("drafted", name, studio.schema.require.k or studio.table.draft.k)
    _change(studio, name, **{one: getattr(drafted, one) for one in type(drafted).model_fields
                             if one != "role"})  # fmt: skip
    return None


async def _slide(studio: Studio, sent: FormData) -> str | None:
    name = _asked(studio, sent)
    look, column = await _look(studio, name), studio.schema.columns[name]
    which, place = text_of(sent, "which"), whole(sent, "position", "the position")
    options: Mapping[str, Any] = {
        "grid": scales.grids,
        "bottom": scales.bottoms,
        "top": scales.tops,
    }
    if look.scale is None or which not in options:
        raise UsageError("there is nothing to slide")
    values = options[which](look.scale, column)
    if place >= len(values):
        raise UsageError("the position is beyond the end")
    if place != scales.position(values, getattr(column, which)):
        schema = studio.schema.with_settings(name, **{which: values[place]})
        studio.history.move(f"{which} of {name}", schema=schema)
    return None


async def _scale(studio: Studio, sent: FormData) -> str | None:
    """The step, the ends and the domain as typed."""
    name = _asked(studio, sent)
    is_date = studio.schema.columns[name].type is ColumnType.DATE
    low, high = (_bound(sent, one, is_date=False) for one in ("least", "most"))
    if (low is None) is not (high is None):
        raise UsageError("type both ends of the domain, or none")
    grid: Any = text_of(sent, "grid") or None
    _change(
        studio,
        name,
        grid=grid if is_date or grid is None else number(sent, "grid", "the step"),
        bottom=_bound(sent, "bottom", is_date=is_date),
        top=_bound(sent, "top", is_date=is_date),
        domain=None if low is None else (low, high),
        render=text_of(sent, "render") or None,
    )
    return None


def _bound(sent: FormData, which: str, *, is_date: bool) -> float | date | None:
    given = text_of(sent, which)
    if not given:
        return None
    if not is_date:
        return number(sent, which, "an end")
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", given):
        raise UsageError("an end must be a date such as 1990-01-31")
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise UsageError("an end must be a date such as 1990-01-31") from None


# ── trees ───────────────────────────────────────────────────────────────────────────────────────


async def _branches(studio: Studio, name: str) -> Taxonomy:
    found = (await _look(studio, name)).branches
    if found is None:
        raise UsageError("this column has no tree")
    return found.tree


def _plant(studio: Studio, name: str, tree: Taxonomy) -> None:
    """Write a tree into the schema."""
    _change(studio, name, taxonomy=tree.nested())


async def _tree(studio: Studio, sent: FormData) -> str | None:
    """Change the tree by hand, or look for values in it."""
    name = _asked(studio, sent)
    done = text_of(sent, "do")
    if done == "find":
        place = _place(studio, name)
        studio.results[f"find {place}"] = Result(studio.table.number, text_of(sent, "find"))
        return None
    tree = await _branches(studio, name)
    if text_of(sent, "of") != shown_tree.digest(tree):
        raise SchemaError("the tree has changed in the meantime: look again")
    nodes = _numbers(sent, "value")
    if any(node > tree.root for node in nodes):
        raise UsageError("there is no such value")
    label = text_of(sent, "label")
    match done:
        case "move":
            tree = trees.moved(tree, nodes, min(whole(sent, "node", "the group"), tree.root))
        case "group":
            tree = trees.grouped(tree, nodes, label)
        case "rename":
            tree = trees.renamed(tree, nodes, label)
        case "dissolve":
            tree = trees.dissolved(tree, nodes)
        case "complete":
            look = await _look(studio, name)
            assert look.branches is not None
            tree = trees.completed(tree, look.branches.lacking)
        case _:
            raise UsageError("there is no such change")
    _plant(studio, name, tree)
    return None


def _numbers(sent: FormData, name: str) -> list[int]:
    """The numbers of the boxes that are ticked."""
    given = [one for one in sent.getlist(name) if isinstance(one, str)]
    return [int(one) for one in given if re.fullmatch(r"[0-9]{1,9}", one)]


def _sought(studio: Studio, place: int) -> str:
    return studio.result(f"find {place}", studio.table.number) or ""


async def _build(studio: Studio, sent: FormData) -> str | None:
    """Build the tree in another way."""
    name = _asked(studio, sent)
    how = text_of(sent, "build")
    if how == "own":
        _plant(studio, name, await _branches(studio, name))
        return None
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
    _change(studio, name, taxonomy=None if how == "flat" else builder)
    return None


async def _read(studio: Studio, sent: FormData) -> str | None:
    """Take the tree from a file in ARX's format."""
    name, file = _asked(studio, sent), sent.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise UsageError("choose a file first")
    data = await file.read(_LARGEST_TREE + 1)
    if len(data) > _LARGEST_TREE:
        raise UsageError("the file is too large for a tree")

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
    return None


async def _write(studio: Studio, sent: FormData) -> str | None:
    """Write the tree to a file in ARX's format, and lead to it."""
    name = _asked(studio, sent)
    tree = await _branches(studio, name)
    path = studio.folder / f"tree-{_place(studio, name) + 1}.csv"
    tree.write_arx(path)
    path.chmod(0o600)
    studio.files[path.name] = path
    return f"files/{path.name}"


async def _confirmed(studio: Studio, _: FormData) -> str | None:
    if not studio.schema.quasi:
        raise UsageError("choose at least one column that others may know")
    studio.history.change(checked=studio.work.checked | {"shown"})
    return "price"


async def _cuts(studio: Studio, asked: Mapping[str, str]) -> str:
    name = _asked(studio, asked)
    svg = await studio.ask("cuts", name, studio.schema.columns[name])
    return figure(svg, f"values of {name} and where they are cut") if svg else ""


def state(studio: Studio) -> str:
    """How far the step is."""
    if not studio.schema.quasi:
        return BLOCKED
    return DONE if "shown" in studio.work.checked else NEXT


STEP = Step(
    "shown",
    "How may it be shown?",
    page,
    state,
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
