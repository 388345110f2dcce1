"""What a report says of a release and its original, even if covey did not make the release."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from covey.clustering.request import Request, Requirements
from covey.custody.keys import Key
from covey.encoding import MISSING_LEAF
from covey.generalisation import View
from covey.inspection.persons import Counted
from covey.measures.histograms import PersonCounts, class_sizes, distributions, rows_of
from covey.measures.loss import Losses
from covey.measures.resolution import resolutions
from covey.report import caveats
from covey.report.carried import Carried
from covey.report.fields import fields_of
from covey.report.headline import Clause
from covey.report.report import LIMITS, Report, Rows
from covey.report.sample import sample
from covey.report.singled import SingledOut
from covey.schema import Role, Schema
from covey.tables.csv_files import Dialect
from covey.verification import Verdict, rings
from covey.verification.rounding import rounded

if TYPE_CHECKING:
    from covey.measures.utility import Utility

BY_CONTENT = "by released content"
AS_READ = "as in the input: positions may reveal whose row is whose"


@dataclass(frozen=True, eq=False, repr=False)
class Making:
    """How covey made a release."""

    request: Request
    alike: bool  # whether the rows of a group are equal in the release
    filled_in: Mapping[str, int]  # missing cells that show the values of others, by column
    key: Key | None  # None if a seed was set instead
    timed: bool  # whether the groups depend on how long the method ran
    doubts: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """Everything known about a release."""

    required: Requirements
    schema: Schema
    view: View
    carried: Carried
    verdict: Verdict
    losses: Losses
    rows: Rows
    persons: PersonCounts | None = None  # if k counts persons, and it is known whose rows these are
    made: Making | None = None  # None if the release was made elsewhere
    clauses: tuple[Clause, ...] = ()  # of the headline, beside what the verdict says
    utility: "Utility | None" = None  # as a report says it; None unless it was asked for

    def report(self, dialect: Dialect, seconds: dict[str, float], **more: Any) -> Report:
        """The report on it."""
        least = rows_of(self.required.k, self.persons)
        found = caveats.of_release(self.view, self.carried, self.verdict, self.rows)
        labels = caveats.of_labels(self.view, self.carried, least=least)
        centres = caveats.of_centres(self.view)
        warnings = (*caveats.of_losses(rounded(self.losses)), *centres, *found, *labels)
        if self.made is not None:
            making = caveats.of_making(self.made, least=least)
            warnings = (*self.made.doubts, *making, *warnings)
        shown = resolutions(self.view)
        return Report(
            version=version("covey"),
            date=datetime.now(UTC).date().isoformat(),
            rows=self.rows,
            verdict=self.verdict,
            losses=self.losses,
            configuration=self._configuration(dialect),
            warnings=warnings,
            seconds=seconds,
            distributions=distributions(self.view, self.required.k, persons=self.persons),
            shown=shown,
            fields=fields_of(self.view, self.carried, self.schema, shown),
            outside=SingledOut.of(
                *(self.carried, self.schema, self.required.k), alike=self.verdict.alike
            ),
            sample=sample(self.view, alike=self.verdict.alike) if self.verdict.holds else None,
            counted=self._counted,
            clauses=self.clauses,
            utility=self.utility,
            **self._making(),
            **more,
        )

    @property
    def _counted(self) -> Counted | None:
        """The released rows, and how many people they are of, if that is known."""
        if self.persons is None or not self.required.person:
            return None
        return Counted(self.required.person, self.persons.people, self.rows.released)

    def _making(self) -> dict[str, Any]:
        """How the release was made, as far as known."""
        if self.made is None:
            return {"classes": class_sizes(self.view)}
        request, key, alike = self.made.request, self.made.key, self.made.alike
        return {
            "method": request.method.name,
            "follows": request.follows,
            "options": request.published,
            "key": key and key.fingerprint,
            "order": AS_READ if request.keep_order else BY_CONTENT,
            "classes": class_sizes(self.view) if alike else (),
            "limits": LIMITS if alike else rings.LIMITS,
        }

    def _configuration(self, dialect: Dialect) -> dict[str, Any]:
        """The request as covey understood it, without values, since they may be of one person.

        Trees are described by their shape, recoded labels and values that mean missing by number.

        If it is unknown which rows were released, a tree built from the values of all of them is
        omitted.
        """
        view = self.view
        trees = {
            category.name: {
                "leaves": category.tree.leaf_count - (MISSING_LEAF in category.tree.node_of),
                "height": category.tree.height,
            }
            for category in view.publishable.original.categories
            if view.same_rows or not category.column.has_own_tree
        }
        columns = {}
        for name, column in self.schema.columns.items():
            quasi = column.role is Role.QUASI
            columns[name] = column.model_dump(
                mode="json",
                exclude={"taxonomy", "recode", "missing_values"},
                exclude_none=True,
                include=None if quasi else {"role", "normalise", "unreadable"},
            )
            listed = {"recode": column.recode, "missing_values": column.missing_values}
            columns[name] |= {setting: len(values) for setting, values in listed.items() if values}
            if name in trees:
                columns[name]["taxonomy"] = trees[name]
        return {
            "columns": columns,
            "table": asdict(dialect),
            "require": {
                "k": self.required.k,
                "person": self.required.person,
                # As in the verdict, which gives the required values.
                "besides": [requirement.name for requirement in self.required.besides],
            },
            "loss": self.schema.loss,
            "style": self.made and asdict(self.made.request.style),
        }
