"""How exact products of float32 matrices have to be: what programs say, and the devices that can do
with less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sockets import MATMUL_PRECISION

if TYPE_CHECKING:
    from ..sockets import PrecisionListener

_precision = "highest"


def get_precision() -> str:
    """Return "highest", "high" or "medium"; "highest" at first."""
    return _precision


def set_precision(precision: str) -> None:
    """Say it for all devices."""
    global _precision
    _precision = precision
    for listener in MATMUL_PRECISION.plugs:
        listener(precision != "highest")


def allow_tf32(allowed: bool) -> None:
    """Say whether factors may be rounded to TF32."""
    set_precision("high" if allowed else "highest")


def tell_tf32(listener: PrecisionListener) -> None:
    """Call `listener` with True or False when TF32 is allowed or forbidden, and now if it is
    allowed.
    """
    MATMUL_PRECISION.add(listener)
    if _precision != "highest":
        listener(True)
