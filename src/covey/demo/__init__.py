"""An invented population to try covey on: no row describes a real person.

The table behaves like a register of people. A town has a character (city, university, suburb,
industry, countryside, coast) that influences the age, birthplace and education of its people. Age
and education influence their work, work their income, and age and sex their diagnosis. Half of the
people resemble someone who lives nearby. So common combinations repeat often, and rare ones stand
out.

`sal` and `income` invent people with the columns of two tables used in a paper.
"""

from covey.demo.census import income, sal
from covey.demo.example import schema, write
from covey.demo.people import people
from covey.demo.population import TAXONOMIES

__all__ = ["TAXONOMIES", "income", "people", "sal", "schema", "write"]
