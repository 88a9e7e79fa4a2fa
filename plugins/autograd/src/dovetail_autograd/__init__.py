"""Automatic differentiation for Dovetail: the graph, the engine, and the kernels of the Autograd
keys.
"""

from typing import Any

from dovetail_kernel import attach_stub, forward_old_places, hookimpl

from .engine.interface import awaited_interface
from .recording import autograd_layer
from .sockets import BATCHED_GRAD

__getattr__ = attach_stub(__name__, publishes=True)
forward_old_places(__name__, f"{__name__}.old_places")


def _grad_batched(*arguments: Any) -> Any:
    """Run a batch of gradients by the transforms, which only few programs load."""
    from .transforms.batching.batched_gradients import grad_batched

    return grad_batched(*arguments)


def install() -> None:
    """Make tensors differentiable and calls record, once for the process."""
    awaited_interface.install()
    autograd_layer.install()
    BATCHED_GRAD.fill(_grad_batched)


@hookimpl
def dovetail_load() -> None:
    """Install when the plugin is loaded."""
    install()
