"""Stands for the interface of tensors until one is first asked about gradients: the graph is
imported then.
"""

from __future__ import annotations

from typing import Any

from dovetail_kernel.sockets import AUTOGRAD

from .. import interface


class AwaitedInterface:
    """Fills the socket with `TensorInterface` when it is first asked for something."""

    def __getattr__(self, name: str) -> Any:
        plug: object = AUTOGRAD.plug
        if plug is self:
            AUTOGRAD.fill(interface.TensorInterface())
        return getattr(AUTOGRAD.plug, name)


def install() -> None:
    """Let tensors be asked about gradients."""
    awaited: Any = AwaitedInterface()
    AUTOGRAD.fill(awaited)
