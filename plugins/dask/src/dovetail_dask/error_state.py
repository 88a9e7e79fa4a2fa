"""Computing without NumPy's warnings: what is infinite, or no number, is a result.

Dask's threads compute in the context of the call that asks, to which the error state belongs.
Other processes print their warnings.
"""

from __future__ import annotations

from typing import Any

import dask
import numpy as np


def computed(*values: Any, **options: Any) -> tuple[Any, ...]:
    """Return what `dask.compute` returns."""
    with np.errstate(all="ignore"):
        results: tuple[Any, ...] = dask.compute(*values, **options)
    return results


def persisted(*values: Any, **options: Any) -> tuple[Any, ...]:
    """Return what `dask.persist` returns."""
    with np.errstate(all="ignore"):
        results: tuple[Any, ...] = dask.persist(*values, **options)
    return results


def on_host(array: object) -> Any:
    """Compute a lazy array, and return it as one of NumPy's."""
    return np.asarray(computed(array)[0])
