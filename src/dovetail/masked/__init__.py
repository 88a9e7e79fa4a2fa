"""Reductions and normalizations that leave masked elements out, as ``torch.masked``.

Every function takes `mask`, a tensor of bools that broadcasts to the input: what is False is left
out. Default: nothing is. Where everything is left out, a result is the neutral element of the
operator, or NaN if there is none.

`dim` is a dimension or several, and by default all; `keepdim` says whether they become 1 instead of
going; `dtype` is that of the result, to which the input is converted first.
"""

import sys as _sys
import typing as _typing

from ..names.missing import names_of as _names_of
from .normalizations import cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin
from .reductions import (
    amax,
    amin,
    argmax,
    argmin,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

_ops = _sys.modules[__name__]  # the path by which PyTorch's examples name them
if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)
