"""Registry of divergence functions by the classes of two distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_aten import Tensor
from dovetail_kernel import warn_user

from .distribution import Distribution

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function that `kl_divergence` calls for two classes of distributions.

    Parameters
    ----------
    type_p, type_q : type
        Classes of distributions, or base classes, which need not be a `Distribution`.

    Raises
    ------
    TypeError
        For a value that is not a class.
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):
            raise TypeError(f"Expected {name} to be a class but got {cls}")

    def register(fun: Callable[..., Any]) -> Callable[..., Any]:
        _KL_REGISTRY[type_p, type_q] = fun
        return fun

    return register


def _distance(cls: type, known: type) -> int:
    return cls.__mro__.index(known)


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """Return the function of the nearest classes, the first one's first."""
    found = [
        (_distance(type_p, p), _distance(type_q, q), p, q)
        for p, q in _KL_REGISTRY
        if issubclass(type_p, p) and issubclass(type_q, q)
    ]
    if not found:
        return NotImplemented
    left = min(found, key=lambda row: row[:2])
    right = min(found, key=lambda row: row[1::-1])
    if left[2:] != right[2:]:
        names = [cls.__name__ for cls in (type_p, type_q, *left[2:], *right[2:])]
        warn_user(
            "Ambiguous kl_divergence({}, {}). Please register_kl({}, {})".format(
                *names[:2], names[2], names[5]
            ),
            RuntimeWarning,
        )
    return _KL_REGISTRY[left[2], left[3]]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the mean of ``p.log_prob(x) - q.log_prob(x)`` over x from p, of the batch shape.

    Raises
    ------
    NotImplementedError
        If no function is registered for the classes.
    """
    fun = _dispatch_kl(type(p), type(q))
    if fun is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}. Register a function with register_kl."
        )
    return fun(p, q)
