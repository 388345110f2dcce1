"""A schema from the names of columns in each role, for a release in one call.

Types, grids and bounds are those that `inspect` drafts. A column that is not named is dropped,
unless the caller says otherwise: covey never passes through what nobody decided about. Those that
look like identifiers are removed as such, since they show whether people have several rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from covey.errors import SchemaError
from covey.inspection.draft import inspect
from covey.inspection.persons import dropped_numbers
from covey.schema import Role, Schema
from covey.tables import Table

Names = Sequence[str] | Mapping[str, Any]


def described(
    table: Table, *, rest: str | None = None, k: int | None = None, **roles: Names | None
) -> tuple[Table, Schema, list[str]]:
    """The table without unread columns, its schema, and what the custodian should know.

    `roles` are those of `inspect`; `quasi` and `sensitive` may map a column to its type or
    settings, instead of drafted ones.
    """
    if not roles.get("quasi"):
        raise SchemaError(
            "no schema and no quasi-identifier: pass a schema, or name the columns that others may "
            'know, as in quasi=["age", "sex"]'
        )
    named: dict[str, Any] = {role: _listed(names) for role, names in roles.items()}
    schema = inspect(table, **named, rest=rest, k=k or 10).schema
    # A draft proposes a k and may take each row for a person, but nobody asked for that.
    required = schema.require.model_copy(
        update={"k": None, "person": schema.require.person or None}
    )
    schema = schema.model_copy(update={"require": required})
    for role in (Role.QUASI, Role.SENSITIVE):
        given = roles.get(role)
        for name, setting in given.items() if isinstance(given, Mapping) else ():
            settings = {"type": setting} if isinstance(setting, str) else dict(setting)
            schema = schema.without(name).with_role(name, role, **settings)
    if rest is not None:
        return table, schema, []
    left = sorted({*table.frame.columns}.difference(*named.values()), key=table.frame.columns.index)
    for name in left:
        if schema.columns[name].role is not Role.IDENTIFIER:
            schema = schema.with_role(name, Role.DROP)
    doubts = [f"removed because they were given no role: {', '.join(map(repr, left))}"]
    unread = {*schema.names(Role.DROP)}.difference(dropped_numbers(schema))
    slim = replace(table, frame=table.frame.drop(unread))
    return slim, schema, doubts if left else []


def _listed(names: Names | None) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())
