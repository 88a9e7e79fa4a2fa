"""`autocast` and its decorators, under PyTorch's path."""

import functools
from collections.abc import Callable
from typing import Any

from dovetail_aten.autocast import autocast, is_autocast_available

from .custom_functions import custom_bwd, custom_fwd

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


def autocast_decorator(
    autocast_instance: autocast, func: Callable[..., object]
) -> Callable[..., Any]:
    """Return a function that calls a given function inside an `autocast`."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        return autocast_instance.around(func, *args, **kwargs)

    return decorate_autocast
