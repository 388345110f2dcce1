"""The least of many rows, in a heap with the greatest on top; equal keys are told by row."""

from covey._core.arrays import Floats, Ints
from covey._core.jit import kernel


@kernel
def push(keys: Floats, rows: Ints, place: int, key: float, row: int) -> None:
    """Put a row into a heap that has room at the end."""
    while place > 0:
        above = (place - 1) // 2
        if keys[above] > key or (keys[above] == key and rows[above] > row):
            break
        keys[place], rows[place] = keys[above], rows[above]
        place = above
    keys[place], rows[place] = key, row


@kernel
def replace_top(keys: Floats, rows: Ints, key: float, row: int) -> None:
    """Put a row into a full heap in place of the one on top."""
    place = 0
    while 2 * place + 1 < len(keys):
        below = 2 * place + 1
        other = below + 1
        if other < len(keys) and (
            keys[other] > keys[below] or (keys[other] == keys[below] and rows[other] > rows[below])
        ):
            below = other
        if key > keys[below] or (key == keys[below] and row > rows[below]):
            break
        keys[place], rows[place] = keys[below], rows[below]
        place = below
    keys[place], rows[place] = key, row
