"""The error of asking a batched tensor for one Python number, as ``x.item()`` and ``if x:`` do
inside of a vmap.
"""

from __future__ import annotations


class ItemOfBatchError(RuntimeError):
    """A Python number was asked of a batched tensor."""

    def __init__(self) -> None:
        super().__init__(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
            "calling .item() on a "
            "Tensor, please try to rewrite what you're doing with other operations: inside of "
            "vmap it has a value for "
            "every sample."
        )

    def of_control_flow(self) -> RuntimeError:
        """Return the error of asking for a truth value."""
        return RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
            "flow. We don't "
            "support that: samples could take different branches. Use where(condition, x, y)."
        )
