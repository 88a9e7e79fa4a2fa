"""Steps of training on any device."""

from __future__ import annotations

from typing import Any

import dovetail


def held(*values: Any) -> None:
    """Have what outlives a step computed on a device that computes when it is asked, as users of it
    do: its graph would hold all steps before it. Elsewhere do nothing.
    """
    if dovetail.get_default_device().type == "dask":
        dovetail.dask.persist(*values)
