from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast, get_args

from covey.cli.files import refuse_overwriting
from covey.cli.options import command
from covey.cli.terminal import say
from covey.errors import UsageError, count, nearest


@dataclass(frozen=True)
class ReadingOptions:
    """What of a release is written."""

    heading: ClassVar[str] = "What to write"

    form: str = "middle"
    n: int = 5
    seed: int = 0
    output: Path | None = None


@command("Read a release as numbers and labels: ends, middles, or tables drawn from it.")
def read(*, released: str, schema: Path | None = None, reading: ReadingOptions) -> None:
    import polars as pl

    from covey import tables
    from covey.reading import read_release
    from covey.reading.released import Form
    from covey.schema import Schema
    from covey.tables import Table, files

    forms = (*get_args(Form), "draws")
    if reading.form not in forms:
        known = ", ".join(forms)
        raise UsageError(f"--as is one of {known}{nearest(reading.form, forms)}")
    path = files.STREAM if reading.output is None else str(reading.output)
    refuse_overwriting([path], released, *([] if schema is None else [schema]))
    release = read_release(released, schema=None if schema is None else Schema.from_toml(schema))
    for doubt in release.doubts:
        say(f"note: {doubt}")
    if reading.form == "draws":
        drawn = enumerate(release.drawn(reading.n, reading.seed), 1)
        frame = pl.concat(one.insert_column(0, pl.lit(place).alias(DRAW)) for place, one in drawn)
    else:
        frame = release.frame(cast("Form", reading.form))
    with files.Drafts(path) as outputs:
        # Texts as they are written have their apostrophes already.
        tables.write(Table(frame), outputs[path].file, path, defuse=reading.form != "text")
        outputs.publish()
    say(f"{count(frame.height, 'row')} read from {released}")


DRAW = "draw"  # the column with the number of the drawn table
