from covey.cli.files import original
from covey.cli.options import BeforeAndAfter, Format, command, schema_beside
from covey.cli.shown import show_losses
from covey.cli.terminal import give_json, out, say

QUERIES = 1000


@command("Measure how much information a released table has lost.")
def measure(
    *,
    tables: BeforeAndAfter,
    k: int | None = None,
    class_column: str | None = None,
    queries: bool = False,
    as_json: bool = False,
    format: Format,
) -> None:
    from covey import pipeline

    schema = format.schema(schema_beside(tables.original, tables.schema))
    losses = pipeline.measure(
        original(tables.original, schema, whole=queries),
        tables.released,
        schema,
        k=k,
        class_column=class_column,
        queries=QUERIES if queries else None,
    )
    if as_json:
        give_json(losses.to_dict())
    else:
        show_losses(losses, out)
    if losses.queries is not None and losses.suppressed:
        say("the query error depends on the suppressed rows: do not publish it")
