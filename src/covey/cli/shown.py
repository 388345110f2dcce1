"""The tables on the terminal: verdicts, losses, comparisons and people.

Results go to standard output, everything else to standard error.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.bar import Bar
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from covey.cli.terminal import out, visible
from covey.declared import declared
from covey.errors import THIN_SPACE, count, percent

if TYPE_CHECKING:
    from covey.custody.overlaps import Overlaps
    from covey.custody.register import Entry
    from covey.measures.loss import Losses
    from covey.measures.utility import UseFigures, Utility
    from covey.report import Report
    from covey.report.headline import Headline
    from covey.studies.comparison import Comparison, Run
    from covey.studies.curves import Curve
    from covey.verification import Verdict
    from covey_experiments.examples import Example
    from covey_experiments.figures import Figure


def show_release(report: "Report", console: Console, *, verbose: bool = False) -> None:
    """The verdict and the risk, what a reader sees, what was lost, and what to check.

    With `verbose`, every measure of the loss is shown too.
    """
    from covey.report.earlier import price

    show_headline(report.headline, console)
    show_verdict(report.verdict, console)
    if report.verdict.risk:
        console.print(Text(report.verdict.risk), soft_wrap=True)
    _show_readable(report, console)
    if verbose:
        show_losses(report.losses, console)
    _show_rows(report, console)
    if report.utility is not None:
        show_utility(report.utility, report.utility.uses, console)
    if report.composition is not None and (compared := report.composition.summary()):
        console.print(compared, soft_wrap=True)
    if costs := price(report):
        console.print(costs, soft_wrap=True)
    if report.output is not None and report.output.defused:
        cells = count(report.output.defused, "cell")
        console.print(f"{cells} with a leading apostrophe, so that no spreadsheet runs them")
    for warning in report.points:
        console.print(Text(visible(f"note: {warning}", lines=False)), soft_wrap=True)


def show_headline(headline: "Headline", console: Console) -> None:
    """The first line about a table, in the colour of its level."""
    style = {"good": "bold green", "warning": "bold yellow", "bad": "bold red"}[headline.level]
    console.print(Text(visible(str(headline), lines=False), style=style), soft_wrap=True)


def _show_readable(report: "Report", console: Console) -> None:
    """What the cells of each column show, what they lost, and a few released rows."""
    lost = {column.name: percent(column.il) for column in report.losses.columns}
    titles = ("column", "what its cells show", "loss")
    grid = light_grid(titles, right=titles[2:], overflow="fold")
    for column in report.shown:
        grid.add_row(Text(column.column), Text(str(column)), lost[column.column])
    console.print("", grid)
    console.print(
        f"information lost: {percent(report.mean_loss)} per cell of these columns, on average"
    )
    if report.sample is None:
        return
    heads = [f"row {place + 1}" for place in range(len(report.sample.rows))]
    # Three rows side by side are readable in 80 columns, five are not.
    most = len(heads) if console.width >= 120 else 3
    for start in range(0, len(heads), most):
        part = slice(start, start + most)
        some = light_grid(("released rows", *heads[part]), overflow="fold")
        for name, *cells in report.sample.lines():
            some.add_row(Text(name), *(Text(cell) for cell in cells[part]))
        if report.sample.alike:
            some.add_row("rows like it", *(f"{n:,}" for n in report.sample.alike[part]))
        console.print("", some)
    console.print()


def _show_rows(report: "Report", console: Console) -> None:
    """Where the rows went."""
    rows = report.rows
    left_out = [
        f"{number:,} {why}"
        for number, why in (
            (rows.dropped, "dropped for missing cells"),
            (rows.suppressed, "suppressed"),
            (rows.known, "in earlier releases"),
        )
        if number
    ]
    console.print(
        f"{rows.released:,} of {rows.read:,} rows released"
        + (f" ({', '.join(left_out)})" if left_out else "")
        + f" in {sum(report.seconds.values()):.1f} s (method {report.method})"
    )


_WORST = 5  # pairs of columns that are named


def show_utility(found: "Utility", uses: "Sequence[UseFigures]", console: Console) -> None:
    """How much of the joint distributions is kept, and the figures of these uses."""
    from covey.measures.utility import shown

    kept = found.marginals
    console.print(
        f"pairs of columns: {kept.score:.0f} of 1,000, as good as a sample of "
        f"{percent(kept.as_sample)} of the rows"
    )
    for pair in kept.worst[:_WORST]:
        moved = f"  {' and '.join(pair)}: {percent(kept.distances[pair])} of the rows moved"
        console.print(Text(visible(moved, lines=False)))
    if found.pmse_ratio is not None:
        tells = f"a model tells drawn rows from original ones: pMSE ratio {found.pmse_ratio:.1f}"
        console.print(tells)
    if uses:
        heads, rows = shown(uses)
        grid = light_grid(heads, right=heads[1:-1], overflow="fold")
        for row in rows:
            grid.add_row(*(Text(visible(cell, lines=False)) for cell in row))
        console.print("", grid)


def show_verdict(verdict: "Verdict", console: Console) -> None:
    """What was required of a table and what was found."""
    from covey.verification.verdict import VERDICT_HEAD

    _print(
        VERDICT_HEAD,
        [
            (check.name, f"{check.asked:g}", check.found, Text(*_ANSWERS[check.answer]))
            for check in verdict.lines
        ],
        console,
    )
    for check in verdict.checks:
        if check.reason:
            console.print(Text(f"{check.name}: {check.reason}"), soft_wrap=True)
    if not verdict.alike:
        console.print(f"{count(verdict.rows, 'row')}, which form no classes")
        return
    console.print(f"{verdict.sizes}, {count(verdict.rows, 'row')} in total")
    if verdict.k_wildcard is None:
        console.print("missing cells as wildcards: not counted, too many combinations of columns")
    elif verdict.k_wildcard > verdict.k:
        rows = count(verdict.k_wildcard, "row")
        console.print(f"with missing cells as wildcards, every row matches at least {rows}")


_ANSWERS = {"yes": ("yes", "green"), "no": ("NO", "bold red"), "not judged": ("not judged", "bold")}


def _print(
    head: Sequence[str], rows: Iterable[Sequence[str | Text]], console: Console, title: str = ""
) -> None:
    """Print a table; its cells are plain text, never markup."""
    grid = Grid(title=title or None)
    for name in head:
        grid.add_column(name, overflow="fold")
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    console.print(grid)


def light_grid(titles: Sequence[str], right: Sequence[str] = (), **settings: Any) -> Grid:
    """A table with a line under its titles and no other lines."""
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in titles:
        grid.add_column(title, justify="right" if title in right else "left", **settings)
    return grid


def show_achieved(verdict: "Verdict", console: Console) -> None:
    """The strongest requirements that hold for each sensitive column."""
    from covey.verification.sensitive import achieved_rows

    if verdict.achieved:
        head = ("strongest value that holds", *(a.column for a in verdict.achieved))
        _print(head, achieved_rows(verdict.achieved), console)


def show_risks(verdict: "Verdict", console: Console) -> None:
    """How likely re-identification is for someone who knows the quasi-identifiers."""
    risks = verdict.risks
    stated = [f"{who}: {percent(risk)}" for who, risk, _ in risks.rows()]
    of = "" if risks.person is None else f" for persons ({risks.person})"
    console.print(
        Text(
            f"risk of re-identification{of}: "
            f"{'; '.join(stated) or 'unknown: the person column is not in the table'}"
        ),
        soft_wrap=True,
    )
    if verdict.why_higher:
        console.print(Text(f"the highest risk is {verdict.why_higher}"), soft_wrap=True)
    if risks.population is not None:
        population = f"a population of {count(risks.population, 'row')}"
        console.print(
            f"journalist and marketer: against {population}"
            if risks.person is None
            else f"{population} does not identify persons: no risk against it is known"
        )
    if risks.uncovered:
        console.print(
            f"classes with fewer rows in the population than in the table: {risks.uncovered:,}"
        )


def show_losses(losses: "Losses", console: Console) -> None:
    """The loss of each column and every metric."""
    from covey.measures.loss import COLUMN_HEAD

    _print(COLUMN_HEAD, losses.by_column(), console, title="information loss")
    totals = Grid(box=None, show_header=False, pad_edge=False)
    for name, value in losses.figures():
        totals.add_row(name, Text(value, justify="right"))
    console.print(totals)
    for worst in losses.worst:
        console.print(
            f"the worst {worst.percent:g}{THIN_SPACE}% of rows ({worst.rows:,}) carry "
            f"{percent(worst.share)} of the loss; without them it is {worst.without:,.2f}",
            soft_wrap=True,
        )


def show_comparison(comparison: "Comparison") -> None:
    """The runs of each k."""
    for k in dict.fromkeys(run.k for run in comparison.runs):
        show_runs(k, [run for run in comparison.runs if run.k == k])


def show_runs(k: int, runs: "list[Run]") -> None:
    """The runs with the least loss first, in as many tables as needed to fit the screen."""
    rows = [run.figures() for run in runs if run.error is None]
    # A method without classes guarantees less, so it loses less: it is listed last.
    rows.sort(key=lambda row: (row["classes"] is None, row["total_il"]))
    out.print(f"k = {k:,}", style="bold")
    labels = "method", [Text(row["method"]) for row in rows]
    for columns in _blocks([_column(name, rows) for name in _shown(rows)], labels):
        titles = [title for title, _ in columns]
        grid = light_grid(titles, right=titles[1:], overflow="fold")
        for cells in zip(*(cells for _, cells in columns), strict=True):
            grid.add_row(*cells)
        out.print(grid, "")
    unlike = [row["method"] for row in rows if row["classes"] is None]
    if unlike:
        out.print(f"{', '.join(unlike)}: not k-anonymity, so not comparable with the others\n")
    refused: dict[str, list[str]] = {}
    for run in runs:
        if run.error is not None:
            refused.setdefault(run.error, []).append(run.method)
    for error, by in refused.items():
        out.print(Text(f"refused by {', '.join(by)}: {error}\n"), soft_wrap=True)


_Column = tuple[str, list[Text]]


def _shown(rows: list[dict[str, Any]]) -> list[str]:
    """The figures that any run has; those with a title of their own first."""
    numbers = {n: v for row in rows for n, v in row.items() if isinstance(v, int | float)}
    # The same for all runs, or covered by other figures.
    left_out = {"k", "rows", "groups", "verified_k", "smallest_class"}
    if not any(row["suppressed"] for row in rows):
        left_out.add("suppressed")
    return sorted(numbers.keys() - left_out, key=[*_FIGURES, *numbers].index)


def _column(name: str, rows: list[dict[str, Any]]) -> _Column:
    """One figure of every run, the best in bold."""
    figure = _FIGURES.get(name) or _Figure(name.replace("_", " "))
    values = [row.get(name) for row in rows]
    best = figure.best_of(row.get(name) for row in rows if row["classes"] is not None)
    differ = any(value != best for value in values)
    return figure.title, [
        Text(figure.written(value), style="bold" if value == best and differ else "")
        for value in values
    ]


def _blocks(columns: list[_Column], labels: _Column) -> Iterator[list[_Column]]:
    """Columns side by side while there is room, each block beside the labels."""
    block = [labels]
    for column in columns:
        if len(block) > 1 and sum(map(_width, [*block, column])) > out.width:
            yield block
            block = [labels]
        block.append(column)
    if len(block) > 1:
        yield block


def _width(column: _Column) -> int:
    title, cells = column
    return max(len(title), *map(len, cells)) + 3


class _Figure(NamedTuple):
    """How one figure of a run is shown."""

    title: str
    form: str = ".4f"
    best: str = "min"
    unit: int = 1

    def written(self, value: float | None) -> str:
        """The value in the unit; nothing if there is none. Counts stay whole."""
        if value is None:
            return ""
        return format(value if self.unit == 1 else value / self.unit, self.form)

    def best_of(self, values: Iterable[float | None]) -> float | None:
        """The lowest or the highest value that is known."""
        known = [value for value in values if value is not None]
        return (max if self.best == "max" else min)(known, default=None)


_FIGURES = {
    name: _Figure(**figure) for name, figure in declared("covey.cli", "figures.toml").items()
}


def show_curve(curve: "Curve") -> None:
    """The risk and the loss for each k, and published rules to compare them with."""
    without = ("without limit",) if curve.is_limited else ()
    uses = ("uses kept", "overlap") if curve.has_uses else ()
    titles = ("k", "highest risk", "average risk", "groups", "loss", *without, *uses)
    grid = light_grid(titles, right=titles, no_wrap=True)
    grid.add_column(f"0 … 100{THIN_SPACE}%", max_width=24)
    for point in curve.points:
        figures = (f"{point.k:,}", percent(point.highest_risk), percent(point.average_risk),
                   f"{point.groups:,}", percent(point.loss))  # fmt: skip
        more = [percent(point.loss_without or 0.0)] if without else []
        if uses:
            more += [percent(point.uses_kept or 0.0), percent(point.uses_overlap or 0.0)]
        grid.add_row(*figures, *more, Bar(1.0, 0.0, point.loss))
    out.print(grid)
    of = "" if curve.person is None else f" ({curve.person})"
    out.print(Text(f"k counts {curve.counted}{of}; {curve.rows:,} rows, method {curve.method}"))
    if without:
        out.print(
            "nobody has more than 1/k of the rows of a class; beside it the loss without that"
        )
    if uses:
        out.print("uses kept: of the declared uses, with their mean overlap (covey utility)")
    _show_marks()
    out.print("to make a release, run covey anonymize")


def _show_marks() -> None:
    """Published rules, shortly; the JSON names their sources."""
    from covey.studies.marks import THRESHOLDS, names_by_cell

    cells = ", ".join(f"{k} ({', '.join(names)})" for k, names in names_by_cell().items())
    risks = ", ".join(
        f"{100 * (mark.risk or 0):g}{THIN_SPACE}% ({mark.name}; k = {mark.k})"
        for mark in THRESHOLDS
    )
    out.print(f"published rules to compare with: smallest cells of {cells}")
    out.print(f"published thresholds of the highest risk: {risks}")
    out.print("their sources: covey curve --json, under marks")


def show_releases(entries: "Sequence[Entry]", overlaps: "Overlaps") -> None:
    """The releases in the register, the oldest first, and which earlier one each follows."""
    interrupted = not all(entry.published for entry in entries)
    titles: tuple[str, ...] = ("id", "date", "file", "rows", "k", "method", "follows", "in both")
    titles += ("",) if interrupted else ()
    grid = light_grid(titles, right=("rows", "k", "in both"), overflow="fold")
    for entry in entries:
        latest = overlaps.latest(entry.id)
        follows = ("", "")
        if latest is not None:
            follows = ("" if latest.is_unknown else latest.earlier, latest.shown)
        state = ("" if entry.published else "interrupted; may be published",) if interrupted else ()
        names = (entry.id, entry.date[:10], Text(entry.name), f"{entry.rows:,}", f"{entry.k:,}")
        grid.add_row(*names, Text(str(entry.request.get("method"))), *follows, *state)
    out.print(grid)


def show_overlaps(entries: "Sequence[Entry]", overlaps: "Overlaps") -> None:
    """How many people are in each pair of releases: one line for each, the earlier ones across."""
    columns = [f"in {place}" for place in range(1, len(entries))]
    grid = light_grid(("", "id", *columns), right=("", *columns), no_wrap=True)
    for place, entry in enumerate(entries, 1):
        shared = (overlap.shown for overlap in overlaps.before(entry.id))
        grid.add_row(f"{place}", entry.id, *shared)
    out.print("\npeople who are in both releases", grid, sep="\n")


def show_experiments(figures: Sequence["Figure"], examples: Sequence["Example"]) -> None:
    """The figures and worked examples of the papers: name, number, content."""
    grid = light_grid(("name", "in the paper", "what it shows"), overflow="fold")
    for example in examples:
        grid.add_row(example.name, example.number, example.title)
    for figure in figures:
        grid.add_row(figure.name, figure.number, figure.title)
    out.print(grid)
    out.print("he-6 runs all parts of that figure, he the whole paper, all everything")


def show_people(before: Any, after: Any) -> None:
    """For each column, the cells of some people before, and below them what is released."""
    grid = Grid(title=f"{before.height} people before and after", show_header=False, box=None)
    for name in before.columns:
        known = ["" if cell is None else str(cell) for cell in before[name]]
        cells = ["removed"] * len(known)
        if name in after.columns:
            cells = ["" if cell is None else str(cell) for cell in after[name]]
        grid.add_row(name, *(Text(cell, style="dim") for cell in known))
        if cells != known:
            grid.add_row("  → released", *(Text(cell, style="bold") for cell in cells))
    out.print(grid)
