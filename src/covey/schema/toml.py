"""A schema as the text of a schema file, with comments if there are reasons to give.

Settings at their defaults are left out. Reading the text gives an equal schema; a tree given as an
object is written as a nested table, which describes the same tree.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.items import Item
from tomlkit.items import Table as Section

from covey.schema.taxonomy import Taxonomy

if TYPE_CHECKING:
    from covey.schema.columns import Column, Schema, TaxonomyBuilder


@dataclass(frozen=True)
class Notes:
    """Comments for a reader: never a cell, since the file may be shown to others."""

    head: Sequence[str] = ()
    require: Sequence[str] = ()  # above the requirements
    columns: Mapping[str, str] = field(default_factory=dict)  # beside the name of a column
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # beside a setting
    below: Mapping[str, Sequence[str]] = field(default_factory=dict)  # below all settings


def written(schema: "Schema", folder: str | Path | None = None, notes: Notes | None = None) -> str:
    """The schema as TOML. Paths of taxonomies are written relative to `folder`."""
    notes, home = notes or Notes(), Path(folder or ".")
    document = tomlkit.document()
    for line in notes.head:
        document.add(tomlkit.comment(line))
    if schema.loss != type(schema).model_fields["loss"].default:
        document.add("loss", tomlkit.item(schema.loss))
    if declared := schema.table.model_dump(exclude_none=True):
        document.add("table", tomlkit.item(declared))
    asked = schema.require.model_dump(exclude_defaults=True)
    if asked or notes.require:
        document.add("require", _section(asked, above=notes.require))
    columns = tomlkit.table(is_super_table=True)
    for name, column in schema.columns.items():
        section = _section(
            _settings(column, home),
            comments=notes.settings.get(name, {}),
            below=notes.below.get(name, ()),
        )
        if name in notes.columns:
            section.comment(notes.columns[name])
        columns.add(name, section)
    document.add("columns", columns)
    return tomlkit.dumps(document)


def _section(
    settings: Mapping[str, Any],
    *,
    above: Sequence[str] = (),
    comments: Mapping[str, str] | None = None,
    below: Sequence[str] = (),
) -> Section:
    table = tomlkit.table()
    for line in above:
        table.add(tomlkit.comment(line))
    for name, setting in settings.items():
        item = tomlkit.item(setting)
        table.add(name, item)
        if comments and name in comments:
            item.comment(comments[name])
    for line in below:
        table.add(tomlkit.comment(line))
    return table


def _settings(column: "Column", folder: Path) -> dict[str, Any]:
    """The settings that differ from their defaults."""
    fields = type(column).model_fields
    return {
        name: _plain(value, folder)
        for name in fields
        if (value := getattr(column, name)) != fields[name].default
    }


def _plain(value: Any, folder: Path) -> Any:
    """A setting as TOML has it."""
    match value:
        case Enum():
            value = value.value
        case float() if value.is_integer():
            value = int(value)
        case Path():
            value = Path(os.path.relpath(value, folder)).as_posix()
        case Taxonomy():
            value = _inline(_nested(value))
        case tuple():
            value = [_plain(one, folder) for one in value]
        case dict():
            value = _inline(value)
        case _ if hasattr(value, "build"):
            value = _inline(_builder(value))
    return value


def _builder(builder: "TaxonomyBuilder") -> dict[str, Any]:
    return {
        name: _plain(setting, Path())
        for name, setting in builder.model_dump(exclude_defaults=True).items()
    }


def _inline(settings: Mapping[str, Any]) -> Item:
    table = tomlkit.inline_table()
    table.update({name: _nested_item(value) for name, value in settings.items()})
    return table


def _nested_item(value: Any) -> Any:
    return _inline(value) if isinstance(value, Mapping) else value


def _nested(tree: Taxonomy) -> dict[str, Any]:
    """A tree as nested tables; a leaf is an empty one."""
    nested: dict[str, Any] = {}
    for path in tree.paths():
        below = nested
        for label in reversed(path):
            below = below.setdefault(label, {})
    return nested
