"""Clustering methods: one module per published method, named as published.

A method is a function `(table, k, *, seed, progress, …) -> Groups`. It sees only the
`EncodedTable`, puts every row into exactly one group of `k` or more, and returns the same labels
for the same seed. To add a method to covey, write its module and its entry here. `registry` has
the code that all methods share, and loads methods from users and other packages.
"""

from dataclasses import replace

from covey.clustering.cb import cb, diversity_of
from covey.clustering.covey import covey, keep_constraints, refined
from covey.clustering.gaa_cp import gaa_cp
from covey.clustering.ikac import ikac
from covey.clustering.k_member import k_member
from covey.clustering.kaca import kaca
from covey.clustering.kacpc import kacpc
from covey.clustering.mdav import mdav
from covey.clustering.mondrian import mondrian
from covey.clustering.nh import nh
from covey.clustering.oka import oka
from covey.clustering.papers import PAPERS
from covey.clustering.registry import (
    METHODS,
    Method,
    as_method,
    bibliography,
    method,
    method_named,
    refuse_infeasible,
)
from covey.clustering.systematic import systematic
from covey.clustering.wf_c_means import wf_c_means

__all__ = [
    "METHODS",
    "Method",
    "as_method",
    "bibliography",
    "keep_constraints",
    "method",
    "method_named",
    "refined",
    "refuse_infeasible",
]

# Costs are times for n rows; memory grows with n and with the size of the trees.
for _own in (
    Method(
        name="covey",
        function=covey,
        paper="covey's own",
        summary="Grow groups of similar rows, then re-form neighbouring ones while the loss falls.",
        bibtex=PAPERS["covey"],
        cost="near-linear",
        keeps_constraints=True,
    ),
    Method(
        name="k-member",
        function=k_member,
        summary="Grow one group of k rows at a time, adding the row that costs least.",
        bibtex=PAPERS["byun2007"],
        cost="near-linear, O(n²) at worst",
    ),
    Method(
        name="cb",
        function=cb,
        summary="Split the rows in two by 2-means, again and again, until no group has 2k rows.",
        bibtex=PAPERS["he2012"],
        cost="O(n log(n/k)), O(n²/k) at worst",
        keeps=diversity_of,
    ),
    Method(
        name="kacpc",
        function=kacpc,
        summary="Gather k rows around each of a chain of central rows.",
        bibtex=PAPERS["wang2022"],
        cost="O(n²/k)",
    ),
    Method(
        name="mondrian",
        function=mondrian,
        summary="Cut the widest attribute at its median, again and again.",
        bibtex=PAPERS["lefevre2006"],
        cost="O(n log n)",
    ),
    Method(
        name="mdav",
        function=mdav,
        summary="Group the rows furthest from the average row with their nearest rows.",
        bibtex=PAPERS["domingoferrer2005"],
        cost="near-linear, O(n²) at worst",
    ),
    Method(
        name="oka",
        function=oka,
        summary="One pass of k-means, then adjust the sizes of the groups.",
        bibtex=PAPERS["lin2008"],
        cost="near-linear, O(n²/k) at worst",
        specified=False,
    ),
    Method(
        name="ikac",
        function=ikac,
        summary="Gather k rows around each of a chain of distant rows.",
        bibtex=PAPERS["zheng2018"],
        cost="O(n²/k)",
        specified=False,
    ),
    Method(
        name="gaa-cp",
        function=gaa_cp,
        summary="Grow groups from random rows, adding all nearest rows at once.",
        bibtex=PAPERS["jiang2017"],
        cost="near-linear, O(n²) at worst",
        specified=False,
    ),
    Method(
        name="kaca",
        function=kaca,
        summary="Merge random small classes of equal rows with their nearest class.",
        bibtex=PAPERS["li2006"],
        cost="O(E²), E distinct rows",
        specified=False,
    ),
    Method(
        name="nh",
        function=nh,
        summary="Arrange the rows in rings and show each with k neighbours; no equal rows.",
        bibtex=PAPERS["wong2010"],
        cost="O(n log(n/k) + nk), O(n²/k) at worst",
        specified=False,
        alike=False,
    ),
    Method(
        name="wf-c-means",
        function=wf_c_means,
        summary="C-means with weighted attributes, then merge classes that are too small.",
        bibtex=PAPERS["chiu2007"],
        cost="near-linear, O(n²/k) at worst",
        specified=False,
    ),
    Method(
        name="systematic",
        function=systematic,
        summary="Grow groups from every k-th row of the sorted table.",
        bibtex=PAPERS["kabir2011"],
        cost="near-linear, O(n²) at worst",
        specified=False,
    ),
):
    METHODS.add(replace(_own, is_own=True))
