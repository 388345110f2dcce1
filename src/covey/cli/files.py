"""The files of a command: what it reads, what the custodian keeps, what it writes."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from covey.cli.terminal import say

if TYPE_CHECKING:
    from covey.attacks import Attack
    from covey.custody.keys import Key
    from covey.custody.register import Register
    from covey.report import Report
    from covey.schema import Schema, TableFormat
    from covey.studies.comparison import Comparison
    from covey.studies.curves import Curve
    from covey.tables import Table
    from covey.tables.batches import Batches
    from covey.tables.files import Drafts


def read(
    path: str, schema: "Schema | None" = None, *, declared: "TableFormat | None" = None
) -> "Table":
    """Read a table and report what was detected."""
    from covey import tables

    table = tables.read(path, schema, declared=declared)
    for note in table.notes:
        say(note)
    return table


def opened(
    path: str, schema: "Schema | None" = None, *, declared: "TableFormat | None" = None
) -> "Batches":
    """Open a table to be read in batches, and report what was detected."""
    from covey.tables.batches import batches

    table = batches(path, schema, declared=declared)
    for note in table.notes:
        say(note)
    return table


def original(path: str, schema: "Schema", *, whole: bool = False) -> "Table | Batches":
    """The original of a release; a folder or pattern in batches, unless it is needed `whole`."""
    from covey.tables import sources

    in_batches = sources.of(path).is_many and not whole
    return opened(path, schema) if in_batches else read(path, schema)


def refuse_overwriting(
    outputs: Iterable[str | Path],
    *inputs: str | Path,
    schema: "Schema | None" = None,
    key: Path | None = None,
    register: Path | None = None,
) -> None:
    """Refuse an output that would replace an input or a file that the custodian keeps."""
    from covey.custody import keys
    from covey.tables import files

    columns = schema.columns.values() if schema is not None else []
    taxonomies = [c.taxonomy for c in columns if isinstance(c.taxonomy, Path)]
    kept = [key or keys.own(), register_at(register).path]
    files.refuse_overwriting(outputs, [*inputs, *taxonomies, *kept])


def custodian(path: Path | None) -> "Key":
    """The custodian's key; report where a new one is stored."""
    from covey.custody.keys import Key

    key = Key.of(path)
    if key.is_new:
        say(f"created your key {key.path}: keep it, and keep it secret")
    return key


def register_at(path: Path | None, key: "Key | Path | None" = None) -> "Register":
    """The register of releases; by default the custodian's own."""
    from covey.custody.register import Register

    found = Register.of(path, key)
    assert found is not None
    return found


def publish(
    result: "Report | Curve | Comparison | Attack", paths: list[Path], outputs: "Drafts"
) -> None:
    """Write a result to each path, in the format of its name."""
    for path in paths:
        outputs[path].write(result.written_as(path))
    outputs.publish()
