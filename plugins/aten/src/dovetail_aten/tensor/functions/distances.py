"""`cdist` as users call it: the way to compute it by name."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import overridable

from ..._generated import functions as aten

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


@overridable
def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    """Return the distances between every row of `x1` and every row of `x2`.

    Parameters
    ----------
    x1, x2
        Floating-point tensors of shapes ``(..., P, M)`` and ``(..., R, M)``; the leading dimensions
        broadcast.
    p
        The order of the norm, 0 or more.
    compute_mode
        Whether to compute Euclidean distances by a matrix product, which is inaccurate for close
        vectors: ``"use_mm_for_euclid_dist_if_necessary"`` (for more than 25 vectors),
        ``"use_mm_for_euclid_dist"`` or ``"donot_use_mm_for_euclid_dist"``.

    Returns
    -------
    Tensor
        ``(..., P, R)``

    Raises
    ------
    ValueError
        For any other mode.
    RuntimeError
        If the shapes are incompatible, or if `p` is negative.
    """
    if compute_mode not in _MODES:
        raise ValueError(
            f"{compute_mode} is not a valid value for compute_mode. Give one of "
            f"{', '.join(_MODES)}."
        )
    return aten.cdist(x1, x2, p, _MODES[compute_mode])
