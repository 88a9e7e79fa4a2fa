"""`trace`: the sum of the diagonal, and the old name of `tracing`."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_kernel import warn_user

from .tracing import tracing


def trace(*input: Any, **options: Any) -> Any:
    """Return the sum of the diagonal of a matrix: a tensor without dimensions, of its dtype, or of
    int64 for integers.

    Without arguments it returns a new `tracing`, and hints at that name, which it had before.

    Parameters
    ----------
    *input
        The matrix, of shape ``(m, n)``.
    **options
        ``out``, a tensor to write the result into.

    Raises
    ------
    RuntimeError
        For a tensor that is not a matrix.
    """
    if input or options:
        return aten.trace(*input, **options)  # type: ignore[attr-defined, unused-ignore]
    warn_user(
        "dovetail.trace() without arguments records operator calls under its former name: trace(x) "
        "is the sum of a diagonal. Write dovetail.tracing().",
        DeprecationWarning,
    )
    return tracing()
