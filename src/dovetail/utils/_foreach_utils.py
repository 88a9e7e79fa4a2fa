"""Tensors in groups of one device and dtype, as ``torch.utils._foreach_utils``, which optimizers of
other libraries import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_aten import Tensor
from dovetail_kernel import Device, dtype

__all__: list[str] = []


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Device, dtype], tuple[list[list[Any]], list[int]]]:
    """Return the lists in parts, by device and dtype of what the first one has in a place.

    Parameters
    ----------
    tensorlistlist
        Lists of one length, such as parameters, gradients and states. The first has no None.
    with_indices
        Whether the places are returned beside the parts; else an empty list. Default: False.

    Raises
    ------
    RuntimeError
        If the lists differ in length, or the first has a None.
    """
    groups: dict[tuple[Device, dtype], tuple[list[list[Any]], list[int]]] = {}
    if len({len(each) for each in tensorlistlist}) > 1:
        raise RuntimeError("the lists of tensors must be of one length. Fill gaps with None.")
    for place, first in enumerate(tensorlistlist[0] if tensorlistlist else ()):
        if first is None:
            raise RuntimeError(f"the first list has None in place {place}. Leave that place out.")
        parts, places = groups.setdefault(
            (first.device, first.dtype), ([[] for _ in tensorlistlist], [])
        )
        for part, each in zip(parts, tensorlistlist, strict=True):
            part.append(each[place])
        if with_indices:
            places.append(place)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the device types whose tensors the ``_foreach`` functions take."""
    return ["cpu", "cuda"]


def _device_has_foreach_support(device: Device) -> bool:
    """Return whether the ``_foreach`` functions take tensors of a device."""
    return device.type in _get_foreach_kernels_supported_devices()


def _has_foreach_support(tensors: Sequence[Tensor | None], device: Device) -> bool:
    """Return whether the ``_foreach`` functions take these tensors."""
    return _device_has_foreach_support(device) and all(
        [each is None or isinstance(each, Tensor) for each in tensors]
    )
