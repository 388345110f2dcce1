"""The covey method: grow groups greedily, then regroup neighbours while that lowers the cost.

There is no paper: the method is covey's own. Its page, docs/methods/covey.md, says how it works.
This module says the same in plain loops, in the order of the page. It was written from the page,
without the compiled kernel. It leaves out the time limit and requirements beyond k.

Groups remember their ends and their loss, because the method asks for them all the time.

Rows that must stay together form an atom. It moves as one, under the number of its first row: from
there on, "row" stands for a whole atom, too.

Cost: O(n²/k) evaluations of the loss in each round, and the work of all tries to regroup.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, TypeAlias

from numpy.random import Generator, default_rng

from covey.reference.draws import below
from covey.reference.model import (
    Categorical,
    Measure,
    Numeric,
    Table,
    attribute_order,
    check_k,
    leaves_below,
    leaves_of_rows,
    lowest_common_ancestor,
    node_loss,
    normalised,
    total_weight,
    tree_of,
)

EffortName: TypeAlias = Literal["fast", "quick", "balanced", "best"]

SUPPRESSED = -1
LEAST_GAIN = 1e-9  # no change is made for less
GROWN_TOGETHER = 512  # rows of a block that groups are grown in
REFINED_TOGETHER = 128  # groups, at least, of a block that is refined
FEW_ROWS = 10_000  # below which there may be more rounds
MANY_ROWS = 50_000  # from which there are fewer rounds
LEAST_ROUNDS = 3  # that are left then
ANNEALED = 8  # rounds from which there is heat
SAMPLE = 32  # rows that decide where a block is cut
MANY = 64  # a group takes one in so many of the rows that it still needs in one search
CHOSEN = 0.4  # how likely one of the nearest groups is formed again, with heat
COOLER = 0.25  # the power of k that the heat falls with
COOLED = 0.85  # the share of the rounds after which there is no heat


@dataclass(frozen=True)
class Effort:
    """How much work is done."""

    rounds: int  # at most
    gain: float  # rounds end when one gains less than this share
    tries: int  # to regroup
    block: int = 4096  # rows
    room: int = 8  # groups, at least, that a block has room for when they are grown
    at_once: bool = False  # whether groups are formed again there, too, and not only in rounds
    pool: int = 20  # rows, at least, of groups that are formed again together
    hosts: int = 6  # groups that stay while their neighbours are formed again
    gathers: float = math.inf  # the lowest k with which new groups gather rows of all groups
    growth: float = 0.0  # the power of k that the rounds grow with
    heat: float = 0.0  # at first, with k = 1
    longer: float = 1.0  # times as many rounds in a small table, at most


EFFORTS: Mapping[EffortName, Effort] = {
    "fast": Effort(rounds=0, gain=0.0, tries=1, room=24, at_once=True, pool=0, hosts=2),
    "quick": Effort(rounds=2, gain=0.01, tries=2),
    "balanced": Effort(rounds=14, gain=0.002, tries=2, gathers=50, heat=0.2, longer=3.0),
    "best": Effort(
        rounds=50,
        gain=0.001,
        tries=2,
        block=8192,
        pool=30,
        gathers=10,
        growth=0.2,
        heat=0.3,
        longer=20.0,
    ),
}


# What a group costs


@dataclass(frozen=True)
class Attribute:
    """A column as a line of places: scaled numbers, or leaves numbered in the order of their tree.

    `pairs` has the weighted loss of the lowest common ancestor of two leaves; numbers have none.
    """

    places: Sequence[float]  # one per row
    weight: float
    pairs: Mapping[tuple[float, float], float] | None = None

    def loss(self, low: float, high: float) -> float:
        """Return the weighted loss of a member of a group with these ends."""
        if self.pairs is None:
            return self.weight * min(high - low, 1.0)
        return self.pairs[low, high]

    def shaken(self, factor: float) -> "Attribute":
        """Return the attribute with all its losses multiplied by a factor."""
        pairs = self.pairs and {ends: loss * factor for ends, loss in self.pairs.items()}
        return Attribute(self.places, self.weight * factor, pairs)


@dataclass(frozen=True)
class Terms:
    """What decides the cost of a group: all that the method knows of the table."""

    attributes: Sequence[Attribute]
    k: int
    classes: Sequence[int]  # one per row; all equal if there is no class column
    penalty: float
    evenness: float
    price: float  # of a suppressed row
    atoms: Mapping[int, Sequence[int]]  # the rows of each atom by its first row
    enough: int  # rows with which an atom may be a group by itself

    def rows_of(self, members: Iterable[int]) -> list[int]:
        """Return all rows that these stand for."""
        return [row for member in members for row in self.atoms.get(member, [member])]

    def weight(self, row: int) -> int:
        """Return the number of rows that this one stands for."""
        return len(self.atoms.get(row, [row]))

    def counted(self, members: Iterable[int]) -> int:
        """Return what members count towards k: an atom may be enough by itself."""
        weights = [self.weight(row) for row in members]
        return sum(max(w, self.k) if w > 1 and w >= self.enough else w for w in weights)

    def surcharge(self, members: Iterable[int]) -> float:
        """Return what members pay for the size of their group and for differing classes."""
        counts = Counter(self.classes[row] for row in self.rows_of(members))
        size = counts.total()
        surcharge = self.evenness * size * (size - self.k) / self.k
        if self.penalty > 0 and size > 0:
            surcharge += self.penalty * (size - max(counts.values()))
        return surcharge

    def loss(self, members: Sequence[int]) -> float:
        """Return the loss of each member: numbers first, then categories, in column order."""
        total = 0.0
        for attribute in self.attributes:
            places = [attribute.places[row] for row in self.rows_of(members)]
            total += attribute.loss(min(places), max(places))
        return total


class Group:
    """Rows in a group, with its lowest and highest place in each attribute. It may be empty."""

    def __init__(self, terms: Terms, rows: Iterable[int] = ()) -> None:
        self.terms = terms
        self.hold(rows)

    def hold(self, rows: Iterable[int]) -> None:
        """Have these rows and no others."""
        self.rows = list(rows)
        every = self.terms.rows_of(self.rows)
        lines = [[a.places[row] for row in every] for a in self.terms.attributes]
        self.ends = [(min(line), max(line)) for line in lines if line]
        self.loss = self.terms.loss(self.rows) if self.rows else 0.0
        self.surcharge = self.terms.surcharge(self.rows)
        self.size = len(every)
        self.counted = self.terms.counted(self.rows)

    @property
    def cost(self) -> float:
        """What all members lose and pay."""
        return self.size * self.loss + self.surcharge

    def join(self, row: int) -> None:
        """Take in a row, before all others."""
        self.hold([row, *self.rows])

    def leave(self, row: int) -> None:
        """Let a row go."""
        self.hold(self.without(row))

    def without(self, row: int) -> list[int]:
        """Return all rows but one, in their order."""
        return [other for other in self.rows if other != row]

    def loss_with(self, row: int, start: float = 0.0) -> float:
        """Return the loss of each member if the row joined, added to `start`."""
        total = start
        own = self.terms.rows_of([row])
        for attribute, (low, high) in zip(self.terms.attributes, self.ends, strict=True):
            places = [attribute.places[one] for one in own]
            total += attribute.loss(min(low, *places), max(high, *places))
        return total

    def rise(self, row: int, limit: float, *, by_class: bool = True) -> float:
        """Return by how much the cost rises if the row joins; infinity if surely not below a limit.

        Both comparisons are there to save work. But rounding lets them decide between equals.
        """
        terms, size, more = self.terms, self.size, self.terms.weight(row)
        larger = terms.evenness / terms.k * (more * (2 * size + more - terms.k))
        if more * self.loss + larger >= limit:
            return math.inf
        loss = self.loss_with(row)
        if loss >= (limit - larger + size * self.loss) / (size + more):
            return math.inf
        rise = (size + more) * loss - size * self.loss + larger
        if by_class and terms.penalty > 0:
            rise += terms.surcharge([row, *self.rows]) - self.surcharge - larger
        return rise


def cheapest(
    groups: Iterable[Group],
    row: int,
    limit: float = math.inf,
    *,
    but: Group | None = None,
    by_class: bool = True,
) -> tuple[Group | None, float]:
    """Return the group whose cost the row raises least, the first of equals, and by how much.

    If none is raised by less than the limit, return None and the limit.
    """
    home, least = None, limit
    for group in groups:
        if group is not but and group.rows:
            rise = group.rise(row, least, by_class=by_class)
            if rise < least:
                home, least = group, rise
    return home, least


# 1. Blocks


@dataclass(frozen=True)
class Cut:
    """Places from `low` to `high` go to the first side, all others to the second."""

    attribute: Attribute
    low: float
    high: float

    def is_first(self, row: int) -> bool:
        """Tell the side of a row."""
        return self.low <= self.attribute.places[row] <= self.high


def most_frequent(places: Sequence[float]) -> float:
    """Return the most frequent place; of equals the one that reached the number first."""
    counts: Counter[float] = Counter()
    mode = places[0]
    for place in places:
        counts[place] += 1
        if counts[place] > counts[mode]:
            mode = place
    return mode


def cut_of(attribute: Attribute, sample: Sequence[int]) -> Cut:
    """Return where a sample of rows suggests to cut an attribute."""
    places = [attribute.places[row] for row in sample]
    if attribute.pairs is not None:
        mode = most_frequent(places)
        if 3 * places.count(mode) >= len(places):
            return Cut(attribute, mode, mode)
    median = sorted(places)[(len(places) - 1) // 2]
    if median == max(places):
        median = max((place for place in places if place < median), default=median)
    return Cut(attribute, -math.inf, median)


def gain_of(cut: Cut, sample: Sequence[int]) -> float | None:
    """Return the mean loss of two rows less that of two rows on one side; None if it is 0."""
    total, within, same = 0.0, 0.0, 0
    for place, one in enumerate(sample):
        for other in sample[:place]:
            ends = sorted((cut.attribute.places[one], cut.attribute.places[other]))
            loss = cut.attribute.loss(*ends)
            total += loss
            if cut.is_first(one) == cut.is_first(other):
                within += loss
                same += 1
    if total == 0.0:
        return None
    pairs = len(sample) * (len(sample) - 1) // 2
    return total / pairs - (within / same if same else 0.0)


def halves(attributes: Sequence[Attribute], block: Sequence[int]) -> tuple[list[int], list[int]]:
    """Cut a block where that gains most, or else in the middle."""
    count = min(SAMPLE, len(block))
    sample = [block[place * len(block) // count] for place in range(count)]
    best, most = None, -math.inf
    for attribute in attributes:
        cut = cut_of(attribute, sample)
        gain = gain_of(cut, sample)
        if gain is not None and gain > most:
            best, most = cut, gain
    if best is not None:
        first = [row for row in block if best.is_first(row)]
        second = [row for row in block if not best.is_first(row)]
        if first and second:
            return first, second
    middle = len(block) // 2
    return list(block[:middle]), list(block[middle:])


def split(attributes: Sequence[Attribute], rows: Sequence[int], most: int) -> list[list[int]]:
    """Cut the rows into blocks of at most so many, always the block that has waited longest."""
    waiting, blocks = [list(rows)], []
    while waiting:
        block = waiting.pop(0)
        if len(block) > most:
            waiting += halves(attributes, block)
        else:
            blocks.append(block)
    return blocks


def merged(blocks: Iterable[list[int]], least: int) -> list[list[int]]:
    """Merge a block of too few rows with the next one, the last with the one before."""
    ready: list[list[int]] = []
    waiting: list[int] = []
    for block in blocks:
        waiting = waiting + block
        if len(waiting) >= least:
            ready.append(waiting)
            waiting = []
    return [*ready[:-1], [*ready[-1], *waiting]] if ready else [waiting]


# 2. Growth


def take(free: list[int], place: int) -> int:
    """Return the free row at a place; the last one takes its place."""
    row = free[place]
    free[place] = free[-1]
    free.pop()
    return row


def next_places(group: Group, free: Sequence[int], start: int) -> list[int]:
    """Return the places of the free rows to take, the highest first.

    It is that of the row with which each member loses least. The search begins at `start`, goes
    around, and ends at the first row that fits. If none does and the group needs many more, several
    of the cheapest rows are taken.
    """
    terms, last = group.terms, group.rows[0]
    found: list[tuple[float, int]] = []
    around = [*range(start, len(free)), *range(start)]
    for turn, place in enumerate(around):
        row = free[place]
        differs = terms.classes[row] != terms.classes[last]
        loss = group.loss_with(row, terms.penalty / (group.size + 1) if differs else 0.0)
        if loss <= group.loss:
            return [place]
        found.append((loss, turn))
    number = max(1, (terms.k - group.counted) // MANY)
    return sorted((around[turn] for _, turn in sorted(found)[:number]), reverse=True)


def grown(
    terms: Terms, rows: Sequence[int], rng: Generator, hosts: Sequence[Group] = ()
) -> list[Group]:
    """Return groups of k rows, each started at a random row, and the hosts.

    The rest of the rows joins any of them.
    """
    free = list(rows)
    groups: list[Group] = []
    while terms.counted(free) >= terms.k:
        place = below(rng, len(free))
        group = Group(terms, [take(free, place)])
        while group.counted < terms.k:
            for place in next_places(group, free, place):  # noqa: B020 - the next search starts there
                group.join(take(free, place))
        groups.append(group)
    groups.extend(hosts)
    for row in free:
        home, _ = cheapest(groups, row)
        assert home is not None
        home.join(row)
    return groups


# 3. Rounds


def first_groups(terms: Terms, rows: Sequence[int], effort: Effort, rng: Generator) -> "Block":
    """Grow groups from all rows of a block, and improve them. No row is suppressed yet."""
    keeping = replace(terms, price=math.inf)
    block = Block(keeping, rows, with_empty(keeping, rows, grown(keeping, rows, rng)))
    if effort.at_once:
        refine(block, effort, 0.0, rng)
    improve(block)
    return block


@dataclass
class Block:
    """Rows, their groups in numbered slots, some of which may be empty, and the rest of the rows.

    The number of slots is that of the groups of k that the rows allow.
    """

    terms: Terms
    rows: Sequence[int]
    slots: list[Group]
    suppressed: set[int] = field(default_factory=set)

    def cost(self, price: float) -> float:
        """Return the cost of all groups and of the suppressed rows."""
        total = 0.0
        for group in self.slots:
            total += group.cost
        return total + len(self.suppressed) * price if self.suppressed else total

    def labels(self) -> dict[int, int]:
        """Return the label of each row. The label of a group is its lowest row."""
        labels = dict.fromkeys(self.suppressed, SUPPRESSED)
        for group in self.slots:
            labels.update(dict.fromkeys(group.rows, min(group.rows, default=0)))
        return labels


def move(block: Block, row: int, home: Group | None) -> None:
    """Let a row that has left its group join another, or suppress it."""
    if home is None:
        block.suppressed.add(row)
    else:
        home.join(row)


def take_back(block: Block) -> None:
    """Let suppressed rows join the groups whose cost they raise by less than their price."""
    for row in sorted(block.suppressed):
        home, _ = cheapest(block.slots, row, block.terms.price - LEAST_GAIN)
        if home is not None:
            block.suppressed.remove(row)
            home.join(row)


def destination(
    block: Block, group: Group, row: int, limit: float
) -> tuple[Group | None, float] | None:
    """Return where a member costs least and how much: another group or, as None, suppressed.

    Return None alone if it costs the limit or more everywhere.
    """
    price = block.terms.price
    home, rise = cheapest(block.slots, row, min(limit, price), but=group)
    return None if home is None and price >= limit else (home, rise)


def pays_to_dissolve(block: Block, group: Group) -> bool:
    """Tell whether members cost less elsewhere, as if they did not meet each other there."""
    whole, total = group.cost - LEAST_GAIN, 0.0
    for row in group.rows:
        there = destination(block, group, row, whole - total)
        if there is None:
            return False
        total += there[1]
    return True


def dissolve(block: Block, group: Group) -> bool:
    """Move all members where they cost least, if that lowers the cost; tell whether it did."""
    if not pays_to_dissolve(block, group):
        return False
    whole, total = group.cost - LEAST_GAIN, 0.0
    moved: list[tuple[int, Group | None]] = []
    for row in list(group.rows):
        there = destination(block, group, row, whole - total)
        if there is None:
            bring_back(block, group, moved)
            return False
        home, rise = there
        group.leave(row)
        move(block, row, home)
        moved.append((row, home))
        total += rise
    return True


def bring_back(block: Block, group: Group, moved: Iterable[tuple[int, Group | None]]) -> None:
    """Let rows that have left return to their group, in the order in which they left."""
    for row, home in moved:
        if home is None:
            block.suppressed.remove(row)
        else:
            home.leave(row)
        group.join(row)


def relocate(block: Block, group: Group) -> None:
    """Move members of a group where they cost less than their leaving saves, until it has k."""
    for row in list(group.rows):
        if group.counted <= block.terms.k or group.cost == 0.0:
            return
        rest = Group(group.terms, group.without(row))
        if rest.counted < block.terms.k:
            continue
        saved = group.cost - rest.size * rest.loss - rest.surcharge
        there = destination(block, group, row, saved - LEAST_GAIN)
        if there is not None:
            group.leave(row)
            move(block, row, there[0])


def exchange(block: Block, group: Group) -> None:
    """Exchange members for members of the group where they raise the loss least."""
    for row in list(group.rows):
        if len(group.rows) < 2:
            return
        saved = group.size * (group.loss - group.terms.loss(group.without(row))) - LEAST_GAIN
        if saved <= 0 or group.terms.weight(row) > 1:
            continue
        home, _ = cheapest(block.slots, row, saved, but=group, by_class=False)
        if home is None:
            continue
        other = best_exchange(group, row, home)
        if other is not None:
            home.hold([row, *home.without(other)])
            group.hold([other, *group.without(row)])


def best_exchange(group: Group, row: int, home: Group) -> int | None:
    """Return the row of `home` for which a row is best exchanged, if that lowers the cost."""
    terms = group.terms
    best, least = None, group.cost + home.cost - LEAST_GAIN
    for other in home.rows:
        if terms.weight(other) > 1:
            continue
        here, there = [other, *group.without(row)], [row, *home.without(other)]
        cost = group.size * terms.loss(here) + home.size * terms.loss(there)
        cost += terms.surcharge(here) + terms.surcharge(there)
        if cost < least:
            best, least = other, cost
    return best


def improve(block: Block, slots: int | None = None) -> None:
    """Take rows back. Dissolve each group that costs anything, or relocate its members.

    Only groups in the first slots are changed so, if their number is given.
    """
    take_back(block)
    for group in block.slots[:slots]:
        if group.cost != 0.0 and not dissolve(block, group):
            relocate(block, group)
            if block.terms.penalty > 0:
                exchange(block, group)


def nearest(block: Block, slot: int, most: int) -> list[int]:
    """Return the slots of the groups that fit best with one, the best first."""
    group = block.slots[slot]
    best: list[tuple[float, int]] = []
    for place, other in enumerate(block.slots):
        if place == slot or not other.rows:
            continue
        counted = min(other.size, 2 * group.size)
        now = group.size * group.loss + counted * other.loss
        loss = block.terms.loss(group.rows + other.rows)
        if len(best) == most:
            if loss >= (best[-1][0] + now) / (group.size + counted):
                continue
            best.pop()
        best.append(((group.size + counted) * loss - now, place))
        best.sort()
    return [place for _, place in best]


def groups_sought(effort: Effort, k: int) -> int:
    """Return how many groups are formed again together with one."""
    return max(3, math.ceil(effort.pool / k)) - 1


def drawn_first(places: Sequence[int], sought: int, rng: Generator) -> list[int]:
    """Return the places in another order: as many as are sought, at random, before the others."""
    first: list[int] = []
    for place in places:
        if len(first) < sought and rng.random() < CHOSEN:
            first.append(place)
    return first + [place for place in places if place not in first]


def neighbourhood(
    block: Block, slot: int, effort: Effort, is_hot: bool, rng: Generator
) -> tuple[list[int], list[int]]:
    """Return the slots that are formed again together, this one first, and those of the hosts."""
    sought = groups_sought(effort, block.terms.k)
    places = nearest(block, slot, sought + effort.hosts)
    if is_hot:
        places = drawn_first(places, sought, rng)
    chosen, hosts, rows = [slot], [], block.slots[slot].size
    for place in places:
        size = block.slots[place].size
        if len(chosen) <= sought and rows + size <= max(2 * block.terms.k * (sought + 1), 40):
            chosen.append(place)
            rows += size
        else:
            hosts.append(place)
    return chosen, hosts


def regroup(
    block: Block,
    chosen: Sequence[int],
    hosts: Sequence[int],
    tries: int,
    heat: float,
    rng: Generator,
) -> None:
    """Form new groups from all rows of the groups in the chosen slots; keep the cheapest.

    It must be cheaper than the old groups, or not dearer than a random limit that heat allows.
    Hosts may take in some of the rows.
    """
    pool = [row for slot in chosen for row in block.slots[slot].rows]
    guests = [row for slot in hosts for row in block.slots[slot].rows]
    before = 0.0
    for slot in [*chosen, *hosts]:
        before += block.slots[slot].cost
    best, least = None, before + allowed(heat, rng)
    for _ in range(tries):
        staying = [Group(block.terms, block.slots[slot].rows) for slot in hosts]
        attempt = Block(block.terms, pool + guests, grown(block.terms, pool, rng, staying))
        improve(attempt, len(attempt.slots) - len(hosts))
        cost = attempt.cost(block.terms.price)
        if cost < least:
            best, least = attempt, cost
    if best is not None:
        replace_groups(block, chosen, hosts, best)


def replace_groups(block: Block, chosen: Sequence[int], hosts: Sequence[int], new: Block) -> None:
    """Put new groups in place of those in the chosen slots, and more of them into empty slots."""
    empty = [slot for slot, group in enumerate(block.slots) if not group.rows]
    for slot in [*chosen, *hosts]:
        block.slots[slot].hold([])
    formed = len(new.slots) - len(hosts)
    pairs = [
        *zip(new.slots[:formed], [*chosen, *empty], strict=False),
        *zip(new.slots[formed:], hosts, strict=True),
    ]
    homes = {row: block.slots[slot] for group, slot in pairs for row in group.rows}
    for row in new.rows:
        move(block, row, homes.get(row))


def allowed(heat: float, rng: Generator) -> float:
    """Return by how much new groups may cost more than the old; less than 0 without heat."""
    return -(heat * math.log(1.0 - rng.random())) if heat > 0 else -LEAST_GAIN


class Box:
    """What a gathered group shows. It starts at one row and widens to others."""

    def __init__(self, terms: Terms, row: int) -> None:
        self.attributes = terms.attributes
        self.ends = [(a.places[row], a.places[row]) for a in terms.attributes]

    def ends_with(self, row: int) -> list[tuple[float, float]]:
        """Return the ends if the row were inside, too."""
        places = [attribute.places[row] for attribute in self.attributes]
        return [
            (min(low, place), max(high, place))
            for (low, high), place in zip(self.ends, places, strict=True)
        ]

    def loss_with(self, row: int | None = None) -> float:
        """Return the loss of each row inside, if this one were inside, too."""
        ends = self.ends if row is None else self.ends_with(row)
        total = 0.0
        for attribute, (low, high) in zip(self.attributes, ends, strict=True):
            total += attribute.loss(low, high)
        return total

    def rises(self, row: int) -> list[tuple[int, float]]:
        """Return the attributes whose loss the row would raise, and by how much."""
        rises = []
        for number, (old, new) in enumerate(zip(self.ends, self.ends_with(row), strict=True)):
            rise = self.attributes[number].loss(*new) - self.attributes[number].loss(*old)
            if rise > 0:
                rises.append((number, rise))
        return rises

    def is_above(self, row: int, number: int) -> bool:
        """Tell whether a row is above the box in a number; the sides of a category are one."""
        attribute = self.attributes[number]
        return attribute.pairs is None and attribute.places[row] > self.ends[number][1]


@dataclass
class Widening:
    """Rows that fit a box if it reaches the furthest of them, in one direction."""

    count: int = 0
    gain: float = 0.0  # what the rows would save if the box kept its loss
    rise: float = 0.0  # of the loss of the box
    furthest: int | None = None


def class_of(rise: float) -> int:
    """Return the class of a rise: four for each power of two, 64 in all."""
    fraction, exponent = math.frexp(rise)
    return min(max(4 * (exponent + 14) + int(8 * fraction) - 4, 0), 63)


def best_widening(
    box: Box, candidates: Sequence[tuple[int, float]], fitting: int, k: int, limit: float
) -> int | None:
    """Return the row that the box is best widened to in one attribute.

    While too few rows fit, it is the row that brings in most rows for its rise; then the one that
    raises most what all rows save together.
    """
    loss = box.loss_with()
    widenings: dict[tuple[int, bool, int], Widening] = {}
    for row, now in candidates:
        rises = box.rises(row)
        if len(rises) == 1 and loss + rises[0][1] < min(now, limit):
            ((number, rise),) = rises
            key = number, box.is_above(row, number), class_of(rise)
            widening = widenings.setdefault(key, Widening())
            widening.count += 1
            widening.gain += now - loss
            if rise > widening.rise:
                widening.rise, widening.furthest = rise, row
    best, choice = 0.0, None
    for direction in sorted({key[:2] for key in widenings}):
        count, gain = 0, 0.0
        for key in sorted(key for key in widenings if key[:2] == direction):
            widening = widenings[key]
            count += widening.count
            gain += widening.gain
            if fitting < k:
                score = min(count, k - fitting) / widening.rise
            else:
                score = gain - (fitting + count) * widening.rise
            if score > best:
                best, choice = score, widening.furthest
    return choice


def nearest_row(box: Box, candidates: Sequence[tuple[int, float]], limit: float) -> int | None:
    """Return the row that the box is widened to least, of those that do not fit."""
    choice, least = None, limit
    for row, now in candidates:
        loss = box.loss_with(row)
        if loss < min(now, least) and box.rises(row):
            choice, least = row, loss
    return choice


def gathered(block: Block, seed: int, limit: float) -> tuple[Box, list[int]]:
    """Return a box around a row, and the rows that fit and lose less in it; none if below k."""
    box = Box(block.terms, seed)
    candidates = [
        (row, group.loss)
        for group in block.slots
        for row in group.rows
        if block.terms.weight(row) == 1 and box.loss_with(row) < min(group.loss, limit)
    ]
    while True:
        candidates = [(row, now) for row, now in candidates if now > box.loss_with()]
        fitting = [row for row, _ in candidates if not box.rises(row)]
        row = best_widening(box, candidates, len(fitting), block.terms.k, limit)
        if row is None and len(fitting) < block.terms.k:
            row = nearest_row(box, candidates, limit)
        if row is None:
            return box, fitting if len(fitting) >= block.terms.k else []
        box.ends = box.ends_with(row)


class Moves:
    """Rows that have moved from group to group, and can go back."""

    def __init__(self) -> None:
        self.made: list[tuple[int, Group, Group]] = []

    def move(self, row: int, old: Group, new: Group) -> None:
        """Move a row."""
        old.leave(row)
        new.join(row)
        self.made.append((row, old, new))

    def undo(self) -> None:
        """Move all rows back, the last one first."""
        for row, old, new in reversed(self.made):
            new.leave(row)
            old.join(row)


def form_around(block: Block, seed: int, limit: float, new: Group, more: float) -> None:
    """Form a group around a row from rows of any group, if that costs less than `more` in all.

    Groups give what they can spare. Those that should give more are dissolved, if that may pay.
    """
    k, price, moves = block.terms.k, block.terms.price, Moves()
    before = block.cost(price)
    box, wanted = gathered(block, seed, limit)
    donors: list[tuple[int, Group]] = []
    for group in [group for group in block.slots if group.rows]:
        rows = [row for row in group.rows if row in wanted]
        spare = len(rows) if len(rows) == group.size else min(len(rows), group.counted - k)
        for row in rows[:spare]:
            moves.move(row, group, new)
        if spare < len(rows):
            donors.append((len(rows) - spare, group))
    for count, group in sorted(donors, key=lambda donor: -donor[0]):
        dissolve_for(block, group, new, box, group.cost - count * box.loss_with() + more, moves)
    if new.size < k or block.cost(price) >= before + more:
        moves.undo()


def dissolve_for(
    block: Block, group: Group, new: Group, box: Box, left: float, moves: Moves
) -> None:
    """Move the rows that fit a box to the new group and others where they cost least.

    The others must raise costs by less than `left` in all.
    """
    homes: list[tuple[int, Group]] = []
    for row in group.rows:
        home: Group | None = new
        if box.rises(row) or group.terms.weight(row) > 1:
            home, rise = cheapest(block.slots, row, left, but=group)
            left -= rise
        if home is None:
            return
        homes.append((row, home))
    for row, home in homes:
        moves.move(row, group, home)


def gather(block: Block, heat: float, rng: Generator) -> None:
    """Let a new group gather rows around a random row of each group that loses anything."""
    for group in block.slots:
        empty = next((other for other in block.slots if not other.rows), None)
        if group.loss > 0.0 and empty is not None:
            seed = group.rows[below(rng, len(group.rows))]
            if block.terms.weight(seed) == 1:
                form_around(block, seed, group.loss, empty, allowed(heat, rng))


def mean_cost(block: Block) -> float:
    """Return what a group of the block costs on average."""
    total, filled = 0.0, 0
    for group in block.slots:
        if group.rows:
            total += group.cost
            filled += 1
    return total / filled if filled else 0.0


def refine(block: Block, effort: Effort, heat: float, rng: Generator) -> None:
    """Improve the groups of a block in one round."""
    improve(block)
    is_hot = heat > 0.0
    heat *= mean_cost(block)
    if block.terms.k >= effort.gathers:
        gather(block, heat, rng)
    together = groups_sought(effort, block.terms.k) + 1
    done: set[int] = set()
    for slot, group in enumerate(block.slots):
        if group.cost == 0.0 or slot in done:
            continue
        if group.counted >= 2 * block.terms.k:
            regroup(block, [slot], [], effort.tries, heat, rng)
        if group.rows:
            chosen, hosts = neighbourhood(block, slot, effort, is_hot, rng)
            done.update(chosen[: together // 3])
            if len(chosen) > 1:
                regroup(block, chosen, hosts, effort.tries, heat, rng)


def blocks_of_groups(
    terms: Terms, labels: Sequence[int], most: int, rng: Generator
) -> Iterator[Block]:
    """Split the table into blocks of whole groups, from one row for each."""
    rows = own_rows(terms.atoms, len(labels))
    own = {row: row if labels[row] == SUPPRESSED else labels[row] for row in rows}
    representative = {own[row]: row for row in rng.permutation(rows).tolist()}
    factors = 3.0 ** rng.uniform(-1.0, 1.0, len(terms.attributes))
    shaken = [a.shaken(float(f)) for a, f in zip(terms.attributes, factors, strict=True)]
    ordered = [representative[label] for label in sorted(representative)]
    for part in split(shaken, ordered, most):
        inside = {own[row] for row in part}
        yield block_of(terms, [row for row in rows if own[row] in inside], labels)


def with_empty(terms: Terms, rows: Sequence[int], groups: Sequence[Group]) -> list[Group]:
    """Return the groups of a block, and empty ones: as many in all as the rows allow."""
    return [*groups, *(Group(terms) for _ in range(terms.counted(rows) // terms.k - len(groups)))]


def block_of(terms: Terms, rows: Sequence[int], labels: Sequence[int]) -> Block:
    """Return a block of whole groups, in the order of their labels."""
    numbers = sorted({labels[row] for row in rows} - {SUPPRESSED})
    slots = [Group(terms, [row for row in rows if labels[row] == number]) for number in numbers]
    return Block(
        terms,
        rows,
        with_empty(terms, rows, slots),
        {row for row in rows if labels[row] == SUPPRESSED},
    )


# 4. Rows return


def rows_return(blocks: Sequence[Block], allowed: int, price: float) -> tuple[float, float]:
    """Let rows return until no more are suppressed than allowed.

    Return by how much that raises the cost, and the highest return cost of a row. The first is
    infinite if a row has no group to return to.
    """
    offers = sorted(
        (cheapest(block.slots, row)[1], row) for block in blocks for row in block.suppressed
    )
    returning = offers[: max(len(offers) - allowed, 0)]
    if not returning:
        return 0.0, 0.0
    dearest = returning[-1][0]
    if dearest == math.inf:
        return math.inf, 0.0
    total = 0.0
    for block in blocks:
        before = block.cost(price)
        for row in sorted(block.suppressed.intersection(row for _, row in returning)):
            home, _ = cheapest(block.slots, row)
            block.suppressed.remove(row)
            move(block, row, home)
        total += block.cost(price) - before
    return total, dearest


# 5. When rounds end


def work_for(effort: EffortName, rows: int, k: int) -> Effort:
    """Return the work with so many rows: more rounds in a small table, fewer in a large one."""
    work = EFFORTS[effort]
    rounds = work.rounds * max(1.0, min(FEW_ROWS / rows, work.longer)) * k**work.growth
    if rows > MANY_ROWS:
        rounds = max(rounds * math.sqrt(MANY_ROWS / rows), min(LEAST_ROUNDS, work.rounds))
    is_hot = int(rounds) >= ANNEALED
    return replace(work, rounds=int(rounds), heat=work.heat / k**COOLER if is_hot else 0.0)


def refined(
    terms: Terms, start: Sequence[Block], effort: Effort, allowed: int, seed: int
) -> list[int]:
    """Return the labels of all rows after the round with the lowest cost."""
    price, cost, labels = terms.price, 0.0, labels_of(start)
    for block in start:
        cost += block.cost(price)
    best, least = labels, cost
    for number in range(1, effort.rounds + 1):
        if cost == 0.0:
            break
        heat = effort.heat * max(0.0, 1.0 - (number - 1) / effort.rounds / COOLED)
        most = max(effort.block // terms.k, REFINED_TOGETHER)
        blocks = list(blocks_of_groups(terms, labels, most, default_rng((seed, number))))
        after = cost
        for place, block in enumerate(blocks):
            before = block.cost(price)
            refine(block, effort, heat, default_rng((seed, number, place)))
            after -= before - block.cost(price)
        rise, dearest = rows_return(blocks, allowed, price)
        after += rise
        terms = replace(terms, price=max(terms.price, dearest))
        # Rounding decides nothing: of rounds that cost the same, the later is kept.
        is_kept = after <= cost + LEAST_GAIN or (heat > 0 and after < math.inf)
        if is_kept:  # else the round is undone
            labels, gain = labels_of(blocks), cost - after
            enough = gain >= effort.gain * cost
            cost = after
            if cost <= least + LEAST_GAIN:
                best, least = labels, cost
            if not enough and heat == 0.0:
                break
    return best


def labels_of(blocks: Iterable[Block]) -> list[int]:
    """Return the labels of all rows."""
    labels: dict[int, int] = {}
    for block in blocks:
        for row, label in block.labels().items():
            labels.update(dict.fromkeys(block.terms.rows_of([row]), label))
    return [labels[row] for row in range(len(labels))]


# The method


def attributes_of(table: Table, measure: Measure) -> list[Attribute]:
    """Return all columns as lines of places: numbers first, then categories, each by name."""
    attributes = []
    missing_at = beyond_all(table)
    for name in attribute_order(table):
        column = table[name]
        if isinstance(column, Numeric):
            places = [missing_at if place is None else place for place in normalised(column)]
            attributes.append(Attribute(places, column.weight))
        else:
            attributes.append(line_of_leaves(column, measure))
    return attributes


def rows_by_atom(atoms: Sequence[int]) -> dict[int, list[int]]:
    """Return the rows of each atom by its first row."""
    members: dict[int, list[int]] = {}
    for row, atom in enumerate(atoms):
        if atom >= 0:
            members.setdefault(atom, []).append(row)
    return {rows[0]: rows for rows in members.values()}


def own_rows(atoms: Mapping[int, Sequence[int]], rows: int) -> list[int]:
    """Return the rows that stand for themselves or for their atom."""
    others = {row for members in atoms.values() for row in members[1:]}
    return [row for row in range(rows) if row not in others]


def beyond_all(table: Table) -> float:
    """Return the place of missing numbers: at least 1 beyond all others, 2 if none exceeds 1."""
    numbers = (n for c in table.values() if isinstance(c, Numeric) for n in normalised(c))
    return math.ceil(max((number for number in numbers if number is not None), default=1.0)) + 1.0


def line_of_leaves(column: Categorical, measure: Measure) -> Attribute:
    """Return a column of categories as a line of leaves, with the losses of all pairs."""
    tree = tree_of(column)
    order = leaves_below(tree, tree.root)
    places = [order.index(leaf) for leaf in leaves_of_rows(column, range(len(column.values)))]
    pairs: dict[tuple[float, float], float] = {}
    for low, high in product(set(places), repeat=2):
        node = lowest_common_ancestor(tree, [order[low], order[high]])
        pairs[low, high] = column.weight * node_loss(tree, node, measure)
    return Attribute(places, column.weight, pairs)


def covey(  # noqa: PLR0913 - the options of the method
    table: Table,
    k: int,
    *,
    seed: int,
    effort: EffortName = "balanced",
    classes: Sequence[int] | None = None,
    penalty: float = 1.0,
    evenness: float = 0.0,
    max_suppressed: float = 0.0,
    atoms: Sequence[int] | None = None,
    reserve: int = 0,
    measure: Measure = "height",
) -> list[int]:
    """Return the group of each row, numbered without gaps; -1 is a suppressed row.

    Rows of the same atom stay together; -1 is a row by itself.
    """
    n = check_k(table, k)
    attributes = attributes_of(table, measure)
    allowed = int(max_suppressed * n + LEAST_GAIN)
    if classes is None:
        classes, penalty = [0] * n, 0.0
    together = rows_by_atom(atoms or [])
    enough, k = k, min(k + reserve, n)
    price = total_weight(table) + penalty + evenness * (n - k) / k if allowed else math.inf
    terms = Terms(attributes, k, classes, penalty, evenness, price, together, enough)

    work = work_for(effort, n, k)
    if allowed:  # only rounds suppress rows
        work = replace(work, rounds=max(work.rounds, 1))
    rows, most = own_rows(together, n), max(GROWN_TOGETHER, work.room * k)
    blocks = merged(split(attributes, rows, most), k)
    start = [
        first_groups(terms, rows, work, default_rng((seed, 0, place)))
        for place, rows in enumerate(blocks)
    ]
    labels = refined(terms, start, work, allowed, seed)
    numbers = sorted(set(labels) - {SUPPRESSED})
    return [label if label == SUPPRESSED else numbers.index(label) for label in labels]
