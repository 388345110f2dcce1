"""An invented population to try covey on: no row describes a real person.

The table is built to behave like a register of people. A town has a character (city, university,
suburb, industry, countryside, coast) which shapes how old its people are, where they were born
and what they learnt; age and education shape their work; work shapes their income; age and sex
shape what they are in hospital for. Half of the people resemble somebody else who lives nearby.
Common combinations therefore repeat often, and rare ones stand out.

`sal` and `income` invent people with the columns of two tables that a paper measures on.
"""

from covey.demo.census import income, sal
from covey.demo.example import schema, write
from covey.demo.people import people
from covey.demo.population import TAXONOMIES

__all__ = ["TAXONOMIES", "income", "people", "sal", "schema", "write"]
