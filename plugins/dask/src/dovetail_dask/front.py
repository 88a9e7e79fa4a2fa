"""``dovetail.dask``: tensors of Dask arrays and Zarr stores, and when they are computed.

>>> x = dovetail.dask.from_zarr("features.zarr")
>>> w = dovetail.zeros(x.shape[1], device="dask", requires_grad=True)
>>> with dovetail.dask.recompute(over="64MiB"):
...     loss = ((x @ w - y) ** 2).mean()
>>> loss.backward()
>>> loss, gradient = dovetail.dask.compute(loss, w.grad)
"""

from __future__ import annotations

from .computing import compute, persist, visualize
from .making import from_dask, from_zarr
from .recomputing import recompute

__all__ = ["compute", "from_dask", "from_zarr", "persist", "recompute", "visualize"]
