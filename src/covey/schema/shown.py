"""A schema for a reader: one line for each column."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covey.schema.columns import Schema

HEAD = ("column", "role", "type", "settings")


def rows(schema: "Schema") -> list[tuple[str, str, str, str]]:
    """The columns of a schema as cells under `HEAD`."""
    return [
        (
            name,
            column.role.value,
            column.type.value if column.type else "",
            ", ".join(
                f"{setting} = {_text(value)}"
                for setting, value in column.settings.items()
                if setting not in ("role", "type")
            ),
        )
        for name, column in schema.columns.items()
    ]


def _text(value: Any) -> str:
    if hasattr(value, "build"):
        return str(value.build)
    if isinstance(value, float):
        return f"{value:g}"
    return "own tree" if isinstance(value, dict) or hasattr(value, "leaves") else str(value)


def as_text(schema: "Schema") -> str:
    """The table as lines of text."""
    cells = [HEAD, *rows(schema)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(HEAD))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
    return "\n".join(["Schema", *lines])


def as_html(schema: "Schema") -> str:
    """The table in a notebook."""
    from covey import html  # pages are made in one place, which imports nothing of covey

    return html.snippet("Schema", html.table(HEAD, rows(schema)))
