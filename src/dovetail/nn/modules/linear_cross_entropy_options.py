"""Options of `LinearCrossEntropyLoss`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail_kernel import dtype as dtype_

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES: Final = ("accurate", "balanced", "compact", "auto")


@dataclass(slots=True)
class LinearCrossEntropyOptions:
    """PyTorch's options for splitting the batch into chunks that need less memory.

    They are accepted and ignored: all logits are computed at once, and all derivatives are
    supported.

    Raises
    ------
    ValueError
        For an unknown method or policy, or a size that is not positive.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype_ | None = None

    def __post_init__(self) -> None:
        if self.chunking_method not in (None, "auto"):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}. Use 'auto'.")
        if self.acc_policy not in _POLICIES:
            listed = ", ".join(_POLICIES)
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}. Use one of {listed}.")
        size: object = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
