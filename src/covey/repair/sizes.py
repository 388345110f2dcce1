"""How many rows groups need for requirements on sensitive values, before any is formed.

A group that a requirement makes larger, or that takes other rows for it, shows that someone in it
has a value that asks for this. Who knows the method may find out who it is: the minimality attack
of Wong, Fu, Wang and Pei (2007). Groups that are large enough from the start need not change for
one row.
"""

from dataclasses import replace

from covey.clustering.request import Request
from covey.encoding import EncodedTable
from covey.errors import GuaranteeError
from covey.schema.requirements import KAnonymity


def large_enough(table: EncodedTable, request: Request) -> Request:
    """The request for groups as large as every group must be anyway.

    It is refused if one row of a rare value breaks a requirement in a group of k rows, unless the
    custodian accepts that.
    """
    constraints = table.constraints
    if constraints is None:
        return request
    least = min(max(request.k, constraints.least_rows), table.rows)
    if not request.accepts_minimality:
        for one in constraints.requirements:
            if constraints.rows_around_rare(one) > least:
                raise GuaranteeError(
                    _refusal(one.name, request.k, constraints.rows_around_rare(one))
                )
    if least == request.k:
        return request
    return replace(request, requirements=(*request.requirements, KAnonymity(least)))


def _refusal(name: str, k: int, needed: int) -> str:
    return (
        f"{name}: k = {k:,} is too small. A group with one row of a rare value needs at least "
        f"{needed:,} rows to meet it, so a group of this size shows that it has such a row, and "
        f"someone who repeats the work may find out whose it is. Set k = {needed:,} (covey curve "
        "shows what it costs), merge rare values, or relax the requirement. To release it anyway, "
        'set minimality = "accept" under [require]'
    )
