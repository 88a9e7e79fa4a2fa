"""Tensors made of what Dask reads."""

from __future__ import annotations

from typing import cast

import dask.array as da

import dovetail
from dovetail_aten.backend import ready_backend
from dovetail_aten.typing import Array
from dovetail_kernel import wrap

from .chunks import check_known


def from_dask(array: Array) -> dovetail.Tensor:
    """Return a tensor on device ``dask`` of a Dask array, with its chunks; nothing is computed.

    Parameters
    ----------
    array
        A `dask.array.Array` of numbers or bools. Its chunks stay as they are: choose them so that a
        few for every thread fit into memory, and along the dimension of samples.

    Raises
    ------
    TypeError
        If `array` is not a Dask array, or has a dtype that tensors lack.
    ValueError
        If the sizes of its chunks are unknown, as after selection by a mask or conversion from a
        data frame: call ``array.compute_chunk_sizes()`` first.
    """
    if not isinstance(array, da.Array):
        raise TypeError(
            f"from_dask takes a dask.array.Array, not {type(array).__name__}. Make one: "
            "dask.array.from_array(array, chunks=...)."
        )
    check_known(array, "from_dask")
    backend = ready_backend("dask")
    return cast(dovetail.Tensor, wrap(backend.arrays.asarray(array), backend))


def from_zarr(
    store: object, component: str | None = None, chunks: object = None
) -> dovetail.Tensor:
    """Return a tensor on device ``dask`` of a Zarr array, which is read chunk by chunk when it is
    needed.

    Parameters
    ----------
    store
        Path, URL, store or array, as `dask.array.from_zarr` takes it.
    component
        Name of the array inside a group.
    chunks
        Sizes of the tensor's chunks; default: those of the store.
    """
    return from_dask(da.from_zarr(store, component=component, chunks=chunks))
