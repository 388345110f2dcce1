from dataclasses import replace
from pathlib import Path

from covey.cli.files import original, publish, refuse_overwriting
from covey.cli.options import AboutRelease, BeforeAndAfter, Format, Required, command, schema_beside
from covey.cli.progress import progress_bar
from covey.cli.shown import show_headline, show_utility, show_verdict
from covey.cli.terminal import err, say
from covey.errors import UsageError


@command("Report on a released table: what holds, what was lost, what to check.")
def report(  # noqa: PLR0913 - groups of options
    *,
    tables: BeforeAndAfter,
    output: list[Path],
    required: Required,
    curve: bool = False,
    utility: bool = False,
    described: AboutRelease,
    class_column: str | None = None,
    format: Format,
) -> None:
    from covey import pipeline
    from covey.report import refuse_format
    from covey.studies import curves
    from covey.tables import files

    for place in output:
        refuse_format(place)
    about = described.about()
    path = schema_beside(tables.original, tables.schema)
    schema = required.applied(format.schema(path))
    refuse_overwriting(output, tables.original, tables.released, path, schema=schema)
    with files.Drafts(*output) as outputs, progress_bar() as progress:
        source = original(tables.original, schema, whole=curve or utility)
        found = pipeline.report_on(
            *(source, tables.released, schema),
            class_column=class_column,
            about=about,
            utility=utility,
            progress=progress,
        )
        if curve and found.rows.suppressed:
            raise UsageError(
                "--curve is not possible: rows are missing in the release, and a curve would "
                "reveal something of them; omit --curve, or pass it to covey anonymize"
            )
        if curve:
            drawn = curves.curve(source, schema, class_column=class_column, progress=progress)
            found = replace(found, curve=drawn)
        progress("writing", 0.0)
        publish(found, output, outputs)
    show_headline(found.headline, err)
    show_verdict(found.verdict, err)
    if found.verdict.risk:
        err.print(found.verdict.risk, soft_wrap=True)
    if found.utility is not None:
        show_utility(found.utility, found.utility.uses, err)
    for warning in found.points:
        say(f"note: {warning}")
    found.verdict.raise_if_broken()
