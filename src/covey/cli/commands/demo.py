from pathlib import Path

from covey.cli.files import custodian
from covey.cli.options import command
from covey.cli.progress import progress_bar
from covey.cli.shown import show_people, show_release
from covey.cli.terminal import out, say


@command("Invent a table of people and release it, as a complete example.")
def demo(
    *,
    output: Path = Path("covey-demo"),
    rows: int = 10_000,
    k: int = 10,
) -> None:
    from covey import demo as invented
    from covey import pipeline, tables
    from covey.report import charts
    from covey.schema import Schema
    from covey.schema.requirements import KAnonymity

    with progress_bar() as progress:
        table, schema = invented.write(output, rows)
        released = output / "released.csv"
        reports = [output / "report.json", output / "report.html"]
        settings = Schema.from_toml(schema)
        release = pipeline.anonymize(
            tables.read(table, settings),
            settings,
            require=[KAnonymity(k)],
            key=custodian(None),
            register=False,  # invented people need no protection: earlier demos give no warnings
            progress=progress,
        )
        written = release.write(released, report=reports)
    shown = [i * len(release.rows) // 5 for i in range(5)]
    people = tables.read(table).frame
    for some in (shown,) if out.width >= 110 else (shown[:3], shown[3:]):
        show_people(people[release.rows[some].tolist()], release.table[some])
    show_release(written, out)
    for what, path in (
        ("original", table), ("schema", schema), ("release", released),
        *(("report", report) for report in reports),
    ):  # fmt: skip
        out.print(f"{what:>9}  {path}", soft_wrap=True)
    if not charts.available():
        say("for charts in the report, install covey[charts]")
