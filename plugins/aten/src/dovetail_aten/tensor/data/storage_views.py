"""Storages shown as vectors, which share their memory."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import Storage, int64, wrap
from dovetail_kernel import dtype as Dtype


def vector_of_storage(storage: Any, wanted: Dtype | None) -> Any:
    """Return all elements of a storage as a tensor; None if it is not a storage.

    Parameters
    ----------
    storage
        With or without dtype.
    wanted
        Dtype of the elements. Default: the dtype of the storage; without one int64, as for a
        sequence of integers.

    Raises
    ------
    RuntimeError
        If the storage has another dtype.
    """
    untyped = getattr(storage, "_untyped_storage", storage)
    if not isinstance(untyped, Storage):
        return None
    own: Dtype | None = getattr(storage, "dtype", None)
    if own is not None and wanted is not None and own is not wanted:
        raise RuntimeError(
            f"Expected a Storage of type {wanted.name} or an UntypedStorage, but got {own.name}. "
            "Take its untyped() to read its bytes otherwise."
        )
    shown = wanted or own or int64
    arrays, step = untyped._backend.arrays, shown.itemsize
    native, size = arrays.native_dtypes[shown], untyped.nbytes() // step
    made = wrap(arrays.as_view(untyped.array, native, (size,), (step,), 0), untyped._backend)
    made._storage = untyped
    return made
