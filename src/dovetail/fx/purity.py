"""Which calls of a graph have to stay where nothing takes their results."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from dovetail_dispatcher import OpOverload, OpOverloadPacket

from ..functions.condition_checks import _assert, _assert_async

_side_effects: Final[set[Any]] = {_assert, _assert_async}


def has_side_effect(fn: Callable[..., object]) -> Callable[..., Any]:
    """Mark `fn` as having side effects, so that unused calls are kept; returns `fn`."""
    _side_effects.add(fn)
    return fn


def is_impure_function(target: Any, kwargs: Mapping[str, object], impure_random: bool) -> bool:
    """Tell whether a call of `target` has to stay where nothing takes its result.

    Parameters
    ----------
    impure_random
        Those of operators that draw random numbers have to.
    """
    if target in _side_effects or kwargs.get("out") is not None:
        return True
    if getattr(target, "__module__", "") == "_operator":
        return target.__name__.startswith("i") and hasattr(operator, f"__{target.__name__}__")
    if isinstance(target, OpOverloadPacket):
        target = getattr(target, target.overloads()[0])
    if isinstance(target, OpOverload):
        is_random = "nondeterministic_seeded" in {tag.name for tag in target.tags}
        return target._schema.is_mutable or (impure_random and is_random)
    return target in (builtins.setattr, builtins.print) or changes_its_tensor(
        getattr(target, "__name__", "")
    )


def changes_its_tensor(name: str) -> bool:
    """Tell whether a method or function is one that writes into its tensor, by its name."""
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
