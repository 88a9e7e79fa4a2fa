"""Operators that no declaration can describe: questions about the geometry of a tensor, whose
results are no tensors, one that pins memory, and one that has sparse tensors alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_dispatcher import Library
from dovetail_kernel import MemoryFormat, TensorBase

from .pinned_memory import pin_memory


def _sizes(tensor: TensorBase) -> list[int]:
    return list(tensor.shape)


def _strides(tensor: TensorBase) -> list[int]:
    return list(tensor.stride())


def _is_dense(tensor: TensorBase) -> bool:
    """Return whether the elements lie in one block of memory, each of them once."""
    reached = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and step != reached:
            return tensor.numel() == 0
        reached *= size
    return True


def _is_contiguous(tensor: Any, memory_format: MemoryFormat) -> bool:
    return tensor.is_contiguous(memory_format=memory_format)  # type: ignore[no-any-return]


_QUESTIONS: Final[dict[str, Callable[..., object]]] = {
    "dim(Tensor self) -> int": TensorBase.dim,
    "numel(Tensor self) -> int": TensorBase.numel,
    "size(Tensor self) -> int[]": _sizes,
    "size.int(Tensor self, int dim) -> int": TensorBase.size,
    "stride(Tensor self) -> int[]": _strides,
    "stride.int(Tensor self, int dim) -> int": TensorBase.stride,
    "storage_offset(Tensor self) -> int": TensorBase.storage_offset,
    "sym_numel(Tensor self) -> SymInt": TensorBase.numel,
    "sym_size(Tensor self) -> SymInt[]": _sizes,
    "sym_size.int(Tensor self, int dim) -> SymInt": TensorBase.size,
    "sym_stride(Tensor self) -> SymInt[]": _strides,
    "sym_stride.int(Tensor self, int dim) -> SymInt": TensorBase.stride,
    "sym_storage_offset(Tensor self) -> SymInt": TensorBase.storage_offset,
    "is_contiguous(Tensor self) -> bool": lambda self: self.is_contiguous(),
    "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool": _is_contiguous,
    "is_non_overlapping_and_dense(Tensor self) -> bool": _is_dense,
}
"""What ``__torch_dispatch__`` is asked, where a wrapper subclass wants it, and what it asks of the
tensors inside.
"""


def register() -> None:
    """Define the operators, and register the kernels of those that have one."""
    library = Library("aten", "FRAGMENT")
    for schema, kernel in _QUESTIONS.items():
        library.define(schema)
        library.impl(schema.partition("(")[0], kernel, "CompositeExplicitAutograd")
    library.define("_pin_memory(Tensor self, Device? device=None) -> Tensor")
    library.impl("_pin_memory", pin_memory, "CompositeExplicitAutograd")
    library.define(
        "_sparse_mm_reduce_impl(Tensor self, Tensor other, str reduce) -> (Tensor, Tensor)"
    )
