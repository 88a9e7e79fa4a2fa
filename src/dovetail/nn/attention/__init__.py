"""Which kernels `scaled_dot_product_attention` may use, as ``torch.nn.attention``; `bias` has
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
    """The kernels that PyTorch knows. Here are two, on every device: MATH, which is made of other
    operators, and FLASH_ATTENTION, which is one.
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
    """Allow only some kernels within the block, in this thread.

    Parameters
    ----------
    backends : SDPBackend or iterable of SDPBackend
        Allowed backends. If neither MATH nor FLASH_ATTENTION is among them,
        `scaled_dot_product_attention` raises RuntimeError within the block. What FLASH_ATTENTION
        cannot do (dropout, batches that broadcast, complex numbers) MATH does, allowed or not.
    set_priority : bool, default False
        Accepted for compatibility: FLASH_ATTENTION goes first.

    Raises
    ------
    AssertionError
        If ``backends`` has something else in it.
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
