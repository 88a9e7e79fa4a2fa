"""Saved tensors that backward computes again from their source, in place of holding them."""

from __future__ import annotations

from typing import Any

import dask.array as da
from dask.graph_manipulation import clone
from dask.utils import parse_bytes

import dovetail
from dovetail_aten.backend import ready_backend
from dovetail_kernel import TensorBase, wrap


def recompute(over: int | str = "64MiB") -> Any:
    """Return a context in which backward recomputes what forward saves, where that is large.

    Dask keeps the result of a task until all that need it have run. What forward saves, backward
    needs again at the end, so that all of it would be held in between. In this context backward
    gets tasks of its own, which read the source again: memory stays that of a few chunks, and the
    work for what was saved is done twice.

    Parameters
    ----------
    over
        Tensors of more bytes than this are recomputed: a number, or text such as ``"64MiB"``.

    Raises
    ------
    ValueError
        For a value that is not a number of bytes.
    """
    limit = parse_bytes(over)
    if limit < 0:
        raise ValueError(f"over is a number of bytes, 0 or more, but is {over}. 0 recomputes all.")

    def again(tensor: TensorBase) -> Any:
        array = tensor.array
        if not isinstance(array, da.Array) or array.nbytes <= limit:
            return tensor
        return wrap(clone(array), ready_backend("dask"))

    return dovetail.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, again)
