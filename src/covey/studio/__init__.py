"""covey studio: the whole way from a table to its release, in a browser on this machine.

Every click edits a `Work`: the schema and the request that the command line takes. A process of its
own reads the table and makes the release with the functions that the command line calls, so the
same work gives the same bytes. The server only keeps the work and writes pages.

    browser → guard → app → work → worker (desk) → covey
"""
