"""What masks of attention are made in: ``x[i]`` where `i` is a tensor that `vmap` goes over."""

from contextlib import AbstractContextManager, nullcontext

__all__ = ["TransformGetItemToIndex"]


def TransformGetItemToIndex() -> AbstractContextManager[None]:
    """Return a context that changes nothing: `vmap` takes such an index anyway."""
    return nullcontext()
