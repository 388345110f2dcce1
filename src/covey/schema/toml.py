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
from pydantic import BaseModel
from tomlkit.items import Item, SingleKey, Trivia
from tomlkit.items import Table as Section

from covey.schema.taxonomy import Taxonomy

if TYPE_CHECKING:
    from covey.schema.columns import Schema


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
    if schema.uses:
        document.add("uses", tomlkit.item([*schema.uses]))
    if (declared := schema.table.model_dump(exclude_none=True)) or notes.table:
        document.add("table", _section(declared, below=notes.table))
    required = schema.require.model_dump(exclude_defaults=True)
    if required or notes.require:
        document.add("require", _section(required, above=notes.require))
    columns = tomlkit.table(is_super_table=True)
    for name, column in schema.columns.items():
        section = _section(
            {setting: _plain(value, home) for setting, value in column.settings.items()},
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
            value = [_plain(part, folder) for part in value]
        case dict():
            value = _Inline(value)
        case BaseModel():  # a builder of a taxonomy
            settings = value.model_dump(exclude_defaults=True)
            value = _Inline({name: _plain(setting, folder) for name, setting in settings.items()})
    return value


class _Inline(Item):
    """An inline table that is written at once: tomlkit's own takes minutes for large trees."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(Trivia())
        self._settings = settings

    def as_string(self) -> str:
        """The table as TOML."""
        return _value(self._settings)

    def unwrap(self) -> Mapping[str, Any]:
        """The table itself."""
        return self._settings


def _value(setting: Any) -> str:
    if isinstance(setting, Mapping):
        pairs = (f"{SingleKey(key).as_string()} = {_value(s)}" for key, s in setting.items())
        return f"{{{', '.join(pairs)}}}"
    text: str = tomlkit.item(setting).as_string()
    return text
