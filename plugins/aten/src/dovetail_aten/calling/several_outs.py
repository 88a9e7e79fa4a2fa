"""Tensors to write results into, where a call gives several: ``out=(values, indices)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def several_outs(name: str, names: Sequence[str], out: object) -> dict[str, Any]:
    """Return the tensors of ``out=`` by the names of the parameters that they are written for.

    Parameters
    ----------
    name
        The function that was called.
    names
        The parameters.
    out
        What was given.

    Raises
    ------
    TypeError
        If it is not as many tensors as there are results.
    """
    if not isinstance(out, tuple | list) or len(out) != len(names):
        raise wrong_out(name, f"tuple of {len(names)} Tensors", out)
    return dict(zip(names, out, strict=True))


def wrong_out(name: str, wanted: str, out: object) -> TypeError:
    """Return the error of an ``out=`` that is not what results are written into."""
    return TypeError(
        f"{name}(): argument 'out' must be {wanted}, not {type(out).__name__}. Give {wanted} to "
        "write into."
    )
