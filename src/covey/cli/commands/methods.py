from rich.table import Table as Grid

from covey.cli.options import command
from covey.cli.terminal import give, give_json, out


@command("List the clustering methods.")
def methods(
    *,
    as_json: bool = False,
    bibtex: bool = False,
) -> None:
    from covey.clustering import METHODS, bibliography

    if bibtex:
        give(bibliography())
        return
    if as_json:
        facts = ("name", "summary", "paper", "cost", "specified")
        listed = [{name: getattr(method, name) for name in facts} for method in METHODS.values()]
        give_json(listed, ensure_ascii=False)
        return
    grid = Grid("method", "what it does", "paper", "cost", "specified")
    for m in METHODS.values():
        grid.add_row(m.name, m.summary, m.paper, m.cost, "in full" if m.specified else "inferred")
    out.print(grid)
