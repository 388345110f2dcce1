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
from tomlkit.items import Item, SingleKey, Trivia
from tomlkit.items import Table as Section

from covey.schema.taxonomy import Taxonomy

if TYPE_CHECKING:
    from covey.schema.columns import Column, Schema, TaxonomyBuilder


@dataclass(frozen=True)
class Notes:
    """Comments for a reader: never a cell, since the file may be shown to others."""

    head: Sequence[str] = ()
    table: Sequence[str] = ()  # below the format of the table
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
    if (declared := schema.table.model_dump(exclude_none=True)) or notes.table:
        document.add("table", _section(declared, below=notes.table))
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
            value = _Inline(value.nested())
        case tuple():
            value = [_plain(one, folder) for one in value]
        case dict():
            value = _Inline(value)
        case _ if hasattr(value, "build"):
            value = _Inline(_builder(value))
    return value


def _builder(builder: "TaxonomyBuilder") -> dict[str, Any]:
    return {
        name: _plain(setting, Path())
        for name, setting in builder.model_dump(exclude_defaults=True).items()
    }


class _Inline(Item):
    """An inline table that is written at once: tomlkit's own takes minutes for large trees."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(Trivia())
        self._settings = settings

    def as_string(self) -> str:
        """The table as TOML."""
        return _written_inline(self._settings)

    def unwrap(self) -> Mapping[str, Any]:
        """The table itself."""
        return self._settings


def _written_inline(settings: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{_key(name)} = {_value(s)}" for name, s in settings.items()) + "}"


def _key(name: str) -> str:
    return SingleKey(name).as_string()


def _value(setting: Any) -> str:
    if isinstance(setting, Mapping):
        return _written_inline(setting)
    text: str = tomlkit.item(setting).as_string()
    return text
