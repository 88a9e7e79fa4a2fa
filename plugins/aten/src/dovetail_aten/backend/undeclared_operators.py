"""Operators that no declaration can describe: one pins memory, one has sparse tensors alone."""

from __future__ import annotations

from dovetail_dispatcher import Library

from .pinned_memory import pin_memory


def register() -> None:
    """Define the operators, and register the kernel of the one that has one."""
    library = Library("aten", "FRAGMENT")
    library.define("_pin_memory(Tensor self, Device? device=None) -> Tensor")
    library.impl("_pin_memory", pin_memory, "CompositeExplicitAutograd")
    library.define(
        "_sparse_mm_reduce_impl(Tensor self, Tensor other, str reduce) -> (Tensor, Tensor)"
    )
