"""New tensors like a batch of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._generated import functions as F
from ..meta.rules import Rules

rule = Rules()


def _like(name: str, call: Callable[..., Any]) -> None:
    @rule(name)
    def apply(
        info: Any, in_dims: Any, self: Any, *args: Any, memory_format: Any = None, **options: Any
    ) -> Any:
        return call(self, *args, **options), 0


def _new(name: str, call: Callable[..., Any]) -> None:
    @rule(name)
    def apply(
        info: Any, in_dims: Any, self: Any, size: Sequence[int], *args: Any, **options: Any
    ) -> Any:
        return call(self, (info.batch_size, *size), *args, **options), 0


for _name in ("empty_like", "zeros_like", "ones_like", "full_like"):
    _like(_name, getattr(F, _name))
for _name in ("new_empty", "new_zeros", "new_ones", "new_full"):
    _new(_name, getattr(F, _name))
