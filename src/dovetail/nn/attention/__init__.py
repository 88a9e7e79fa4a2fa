"""Choice of kernels for `scaled_dot_product_attention`, as in ``torch.nn.attention``; `bias` has
causal biases.

May import the packages below.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum, IntEnum

from dovetail_aten.nn import _attention_choice as choice

from ...names.missing import names_of

if _typing.TYPE_CHECKING:
    from . import bias as bias
    from . import flex_attention as flex_attention
else:
    __getattr__ = names_of(__name__, ("bias", "flex_attention"))

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """PyTorch's names of attention kernels. Two exist here, on every device: MATH, a composition of
    other operators, and FLASH_ATTENTION, a single operator.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __str__ = Enum.__str__


_VIABLE = frozenset({SDPBackend.MATH, SDPBackend.FLASH_ATTENTION})
_EVERY = (
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
)


@contextmanager
def sdpa_kernel(
    backends: Iterable[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """Restrict attention to some kernels within the block, in this thread.

    Parameters
    ----------
    backends : SDPBackend or iterable of SDPBackend
        Allowed backends. If neither MATH nor FLASH_ATTENTION is among them,
        `scaled_dot_product_attention` raises RuntimeError within the block. MATH computes what
        FLASH_ATTENTION does not support (dropout, broadcast batches, complex numbers), even if it
        is not allowed.
    set_priority : bool, default False
        Accepted and ignored: FLASH_ATTENTION has priority.

    Raises
    ------
    AssertionError
        If ``backends`` contains anything else.
    """
    given: _typing.Any = (backends,) if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise AssertionError(_WRONG.format(type(backends).__name__))
    chosen = tuple(dict.fromkeys(given))
    for each in chosen:
        if not isinstance(each, SDPBackend):
            raise AssertionError(_WRONG.format(f"one of type {type(each).__name__}"))
    before = choice.backends, choice.is_viable, choice.is_fused
    choice.backends, choice.is_viable = chosen, not _VIABLE.isdisjoint(chosen)
    choice.is_fused = SDPBackend.FLASH_ATTENTION in chosen
    try:
        yield
    finally:
        choice.backends, choice.is_viable, choice.is_fused = before


_WRONG = "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {}"


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """Return the kernels that are allowed now."""
    allowed = choice.backends
    return [each for each in _EVERY if allowed is None or each in allowed]
