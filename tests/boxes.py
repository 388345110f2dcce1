"""Boxes of another shape than usual: it decides how fast searches are, never what they find."""

from contextlib import AbstractContextManager
from functools import partial
from unittest import mock

from hypothesis import strategies as st

from covey._core import kernels

few_bits = st.sampled_from([1, 2, 3, 64])  # leaves of a tree share bits if it has more of them
samples = st.sampled_from([2, 3, 32])  # rows by which cuts are judged


def boxes_of_single_rows(*, bits: int = 2, sample: int = 2) -> AbstractContextManager[object]:
    """From now on, tables have such boxes."""
    shaped = partial(kernels.Table, leaf_rows=1, bits=bits, sample=sample)
    return mock.patch.object(kernels, "Table", shaped)
