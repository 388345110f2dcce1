"""What a release and earlier ones of the same people protect together, and what that costs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from covey.errors import count, percent

if TYPE_CHECKING:
    from covey.report.report import Report


def price(report: "Report") -> str:
    """What it costs to keep everyone's group together; nothing if it was not computed."""
    if report.price is None:
        return ""
    more = f"{percent(abs(report.price))} {'less' if report.price < 0 else 'more'} loss"
    return f"Keeping groups together costs {more} than a release of the same rows from scratch"


def figures(report: "Report") -> Iterator[tuple[str, str, str]]:
    """Each figure: its name, what it means, and its value."""
    found, rows = report.composition, report.rows
    if found is not None and found.fewest is not None:
        of = f"The people who are also in any of {count(found.earlier, 'earlier release')}."
        yield "released before", of, percent(found.shared)
        yield "fewest candidates", f"Of one person; k = {found.k:,}.", f"{found.fewest:,}"
        half = "Half of the people have as many candidates or more."
        yield "median of candidates", half, f"{found.median:,}"
        below = f"The people with fewer than {found.k:,} candidates."
        yield "below k", below, percent(found.below_k)
        alone = f"The people who came into a class with fewer than {found.k:,} who were new."
        yield "came alone", alone, percent(found.apart)
        for one in found.certain:
            sure = f"The people for whom it is; by this release alone {percent(one.alone)}."
            yield f"value of {one.column} is certain", sure, percent(one.together)
    if report.follows:
        of = (
            f"Of {count(rows.read - rows.dropped, 'row')}: too few of their classes are still here."
        )
        yield "left out for it", of, f"{rows.suppressed:,}"
