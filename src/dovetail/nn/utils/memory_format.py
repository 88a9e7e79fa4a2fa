"""Memory formats of the weights of convolutions."""

from __future__ import annotations

from typing import Any, TypeVar

from dovetail_kernel import MemoryFormat

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Set the memory format of the weights of all `Conv2d` and `ConvTranspose2d` in a module.

    Parameters
    ----------
    module : Module
        Changed in place, and returned.
    memory_format : memory_format
        Memory format such as ``dovetail.channels_last``; the inputs may have any format.
    """
    return _laid_out(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Set the memory format of the weights of all `Conv3d` and `ConvTranspose3d` in a module;
    arguments as in `convert_conv2d_weight_memory_format`.
    """
    return _laid_out(module, (Conv3d, ConvTranspose3d), memory_format)


def _laid_out(module: M, kinds: tuple[type, ...], memory_format: MemoryFormat) -> M:
    for each in module.modules():
        if isinstance(each, kinds):
            layer: Any = each
            layer.weight.data = layer.weight.detach().clone(memory_format=memory_format)
    return module
