"""What a file says about its columns: labels of variables and of values."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Codebook:
    """The labels of columns and of their values, as SPSS, Stata and SAS files have them."""

    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by the text of a cell
