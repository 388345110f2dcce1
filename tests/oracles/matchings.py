"""Matchings of originals with the boxes of a non-homogeneous release (specification B2).

A graph is a square table of truth values: `contains[i][j]` says whether original i, a row of
the table, lies in box j, a row of the release.
"""

from collections.abc import Sequence

Graph = Sequence[Sequence[bool]]


def check_square(graph: Graph) -> None:
    """Raise unless there are as many boxes as originals."""
    if any(len(row) != len(graph) for row in graph):
        raise ValueError("there must be one box per original")


def perfect_matching(contains: Graph) -> list[int] | None:
    """Return the box of each original in some perfect matching; None if there is none."""
    check_square(contains)
    n = len(contains)
    owner: dict[int, int] = {}

    def finds_a_box(original: int, tried: set[int]) -> bool:
        for box in range(n):
            if contains[original][box] and box not in tried:
                tried.add(box)
                if box not in owner or finds_a_box(owner[box], tried):
                    owner[box] = original
                    return True
        return False

    if not all(finds_a_box(original, set()) for original in range(n)):
        return None
    box_of = {original: box for box, original in owner.items()}
    return [box_of[original] for original in range(n)]


def reachable(links: Sequence[Sequence[int]], start: int) -> set[int]:
    """Return every node on a path from the start, the start too."""
    seen = {start}
    waiting = [start]
    while waiting:
        for node in links[waiting.pop()]:
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return seen


def matchable(contains: Graph) -> list[set[int]]:
    """Return for each original the boxes it has in some perfect matching.

    From one perfect matching every other comes by originals passing their boxes on in cycles.
    So original i can have the box of i' if it lies in it, and i' leads back to i: both are in
    one strongly connected component of the graph "i lies in the box of i'".
    """
    box_of = perfect_matching(contains)
    if box_of is None:
        return [set() for _ in contains]
    originals = range(len(contains))
    links = [[other for other in originals if contains[i][box_of[other]]] for i in originals]
    reach = [reachable(links, i) for i in originals]
    return [{box_of[other] for other in links[i] if i in reach[other]} for i in originals]


def matchable_counts(contains: Graph) -> list[int]:
    """Return for each original the number of boxes it has in some perfect matching."""
    return [len(boxes) for boxes in matchable(contains)]


def disjoint_perfect_matchings(edges: Graph) -> int:
    """Return the greatest number of perfect matchings of which no two share an edge.

    By König, r of them are the same as a subgraph in which every node has r edges.
    """
    check_square(edges)
    r = 0
    while r < len(edges) and has_regular_subgraph(edges, r + 1):
        r += 1
    return r


def has_regular_subgraph(edges: Graph, r: int) -> bool:
    """Tell whether some of the edges give every original and every box exactly r of them.

    This is a flow: r from the source into each original, at most one along each edge, r out of
    each box into the sink. Paths are added for as long as there is one.
    """
    n = len(edges)
    source, sink = 2 * n, 2 * n + 1
    room = [[0] * (2 * n + 2) for _ in range(2 * n + 2)]
    for i in range(n):
        room[source][i] = r
        room[n + i][sink] = r
        for j in range(n):
            room[i][n + j] = int(edges[i][j])

    def push(node: int, seen: set[int]) -> bool:
        if node == sink:
            return True
        seen.add(node)
        for after in range(2 * n + 2):
            if room[node][after] and after not in seen and push(after, seen):
                room[node][after] -= 1
                room[after][node] += 1
                return True
        return False

    return all(push(source, set()) for _ in range(r * n))
