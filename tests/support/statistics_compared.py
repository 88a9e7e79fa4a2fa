"""Which calls of statistics give the same numbers in PyTorch."""

from __future__ import annotations

import dovetail
from dovetail.testing import SampleInput


def is_comparable_statistic(base: str, sample: SampleInput, special: bool) -> bool:
    """Say whether PyTorch has the numbers of a call of the operator `base`.

    Which of equal elements a median or a k-th value is taken from is nowhere said. The mode beside
    NaN depends on their order. The mean of infinities beside a variance is NaN, and so is their
    integral with one step, whose ends wrap in uint8. Coordinates in another precision are rounded
    before they are subtracted. Integers that are drawn by probabilities seem to require grad.

    Parameters
    ----------
    base
        Name of the operator.
    sample
        The arguments.
    special
        Whether some number among them is not finite.
    """
    dtypes = {tensor.dtype for tensor in sample.tensors()}
    if base in ("median", "nanmedian", "kthvalue"):
        return len(set(sample.input.reshape(-1).tolist())) == sample.input.numel()
    if base == "bernoulli_":
        return sample.input.dtype.is_floating_point
    if base in ("mode", "var_mean", "std_mean"):
        return not special
    if base in ("trapz", "trapezoid"):
        return not special and dovetail.uint8 not in dtypes
    if base == "gradient":
        return len({each for each in dtypes if each.is_floating_point or each.is_complex}) < 2
    return True
