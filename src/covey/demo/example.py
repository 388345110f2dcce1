"""The demonstration on disk: a table, its schema and its taxonomies."""

from pathlib import Path
from typing import Any

import tomlkit

from covey import tables
from covey.demo.people import people
from covey.demo.population import POPULATION, TAXONOMIES
from covey.schema import Schema, taxonomy
from covey.tables import Table, files


def schema() -> Schema:
    """The roles and types of the invented people."""
    return Schema.from_dict({"columns": _columns(TAXONOMIES)})


def write(folder: Path, rows: int = 10_000) -> tuple[Path, Path]:
    """Write the table, its schema and its taxonomies; return the paths of the first two."""
    with files.output_errors():
        (folder / "hierarchies").mkdir(parents=True, exist_ok=True)
        paths = {name: f"hierarchies/{name}.csv" for name in TAXONOMIES}
        for name, path in paths.items():
            taxonomy.from_nested(TAXONOMIES[name]).write_arx(folder / path)
        table, toml = folder / "people.csv", folder / "people.toml"
        toml.write_text(tomlkit.dumps({"columns": _columns(paths)}), encoding="utf-8")
        with table.open("wb") as file:
            tables.write(Table(people(rows)), file)
    return table, toml


def _columns(trees: dict[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {"name": {"role": "identifier"}, "birth_date": {"role": "identifier"}}
    for name, settings in POPULATION["quasi"].items():
        tree = {"taxonomy": trees[name]} if name in trees else {}
        columns[name] = {"role": "quasi", **settings, **tree}
    return columns | {
        name: {"role": "sensitive"} for name in ("income", "diagnosis", "length_of_stay")
    }
