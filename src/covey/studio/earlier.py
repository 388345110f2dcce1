"""Which earlier releases have the people of a table, and what it costs to follow them."""

import contextlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covey import pipeline
from covey.custody.composition import Composition
from covey.custody.footprints import Tracer
from covey.custody.register import Register
from covey.errors import CoveyError
from covey.report import Report
from covey.schema import Schema
from covey.schema.requirements import KAnonymity
from covey.studio.reading import Reading, TableDesk

_EFFORT = "quick"


@dataclass(frozen=True)
class Compared:
    """A quick release from scratch and one that follows earlier ones."""

    scratch: Composition  # of the first, with all earlier releases
    follower: Report | None = field(repr=False)  # of the second; None if there is none
    obstacle: str = ""  # why there is none


class EarlierReleases(TableDesk):
    """The jobs about earlier releases of the same people."""

    def released_on(self, reading: Reading, schema: Schema) -> tuple[str, ...]:
        """The dates of the releases in the register that have people of this table."""
        register, table = Register.of(), self.table(reading)
        if register is None or not register.path.exists():
            return ()
        size = KAnonymity(2, person=schema.require.person or False)
        every = np.arange(table.frame.height)
        with contextlib.suppress(CoveyError):  # writing a release says what is wrong
            tracer = Tracer(register.key, schema, size, table.frame.columns)
            people = [tracer.people(table, every, name) for name in tracer.who]
            ids = register.overlaps().having(people)
            dates = (one.date[:10] for one in register.releases() if one.id in ids)
            return tuple(dict.fromkeys(dates))
        return ()

    def followed(self, reading: Reading, schema: Schema, options: dict[str, Any]) -> Compared:
        """Release twice with little effort, from scratch and following, for nobody."""
        table, progress = self.original(reading, schema), self.reporter.progress
        choices = {**options, "effort": _EFFORT, "progress": progress}
        scratch = pipeline.anonymize(table, schema.requiring(composition="warn"), **choices)
        together = scratch.combined()
        try:
            follower = pipeline.anonymize(
                *(table, schema.requiring(composition="follow")), price=True, **choices
            )
        except CoveyError as error:
            return Compared(together, None, str(error))
        return Compared(together, follower.report)
