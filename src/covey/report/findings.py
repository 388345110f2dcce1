"""A release beside its original: what every report says, whoever made the release."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import polars as pl

from covey.clustering.request import Asked
from covey.encoding import MISSING_LEAF, EncodedTable
from covey.generalisation import Style
from covey.measures.histograms import class_sizes, distributions, rows_of
from covey.measures.loss import Losses
from covey.report import caveats
from covey.report.report import Report, Rows
from covey.schema import Role, Schema
from covey.tables import Table
from covey.tables.csv_files import Dialect
from covey.verification import Verdict


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """What was found out about a release."""

    asked: Asked
    schema: Schema
    original: EncodedTable
    known: EncodedTable  # the same, or what the release shows if nobody knows who is in it
    released: Table
    verdict: Verdict
    losses: Losses
    rows: Rows
    persons: pl.Series | None = None  # whose row each is, if k counts persons
    style: Style | None = None

    @property
    def same_rows(self) -> bool:
        """Whether the original's rows are those behind the release."""
        return self.known is self.original

    @property
    def least(self) -> int:
        """So many rows are those of k people at least."""
        return rows_of(self.asked.k, self.persons)

    def report(
        self,
        dialect: Dialect,
        *,
        alike: bool = True,
        warnings: Iterable[str] = (),
        **made: Any,
    ) -> Report:
        """The report; `made` tells how the release was made, if that is known."""
        people = self.original if self.same_rows else None
        return Report(
            version=version("covey"),
            date=datetime.now(UTC).date().isoformat(),
            rows=self.rows,
            verdict=self.verdict,
            losses=self.losses,
            configuration=self._configuration(dialect),
            warnings=(
                *warnings,
                *caveats.of_release(
                    *(self.original, self.released, self.schema, self.verdict, self.rows)
                ),
                *caveats.of_labels(people, self.released, self.schema, least=self.least),
            ),
            classes=class_sizes(self.original, self.released) if alike else (),
            distributions=distributions(
                *(self.known, self.released, self.asked.k),
                persons=self.persons,
                same_rows=self.same_rows,
            ),
            **made,
        )

    def _configuration(self, dialect: Dialect) -> dict[str, Any]:
        """The request as it was understood; trees by their shape, since labels may name people.

        Where it is not known which rows are behind the release, a tree that was made from the
        values of all of them is left out.
        """
        trees = {
            category.name: {
                "leaves": category.tree.leaf_count - (MISSING_LEAF in category.tree.node_of),
                "height": category.tree.height,
            }
            for category in self.known.categories
            if self.same_rows or not category.column.has_own_tree
        }
        columns = {}
        for name, column in self.schema.columns.items():
            quasi = column.role is Role.QUASI
            columns[name] = column.model_dump(
                mode="json",
                exclude={"taxonomy"},
                exclude_none=True,
                include=None if quasi else {"role", "normalise"},
            )
            if name in trees:
                columns[name]["taxonomy"] = trees[name]
        return {
            "columns": columns,
            "table": asdict(dialect),
            "require": {
                "k": self.asked.k,
                "person": self.asked.person,
                # As the verdict names them; there stands what was asked of each.
                "besides": [asked.name for asked in self.asked.besides],
            },
            "loss": self.schema.loss,
            "style": self.style and asdict(self.style),
        }
