"""Kernels of the out variants of composites: they write what the composite returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_dispatcher import Kernel, Operator
from dovetail_dispatcher.calls import write_outs
from dovetail_dispatcher.table import TENSOR, place_of_definition
from dovetail_kernel import DispatchKey, bump_version, plugin_manager


class OutOfComposite(Kernel):
    """The kernel of an out variant whose functional operator is a composite.

    Backends with an array kernel for the functional operator do not come here.

    Parameters
    ----------
    op
        The out variant.
    """

    __slots__ = ()

    returns_by_schema = True

    def __init__(self, op: Operator) -> None:
        super().__init__(
            _writes_results(op),
            DispatchKey.CompositeExplicitAutograd,
            TENSOR,
            place_of_definition(op),
            plugin=plugin_manager.loading(),
        )


def _writes_results(op: Operator) -> Callable[..., Any]:
    """Return the function that calls the functional operator of `op` and writes what it returns."""
    refuses = tuple([word for word in op.refuses if word == "typed_out"])

    def write(*args: Any, **kwargs: Any) -> Any:
        functional = op.variant_of
        assert functional is not None
        outs = [kwargs.pop(a.name) for a in op.schema.arguments if a.is_out]
        results = functional.handle(*args, **kwargs)
        single = len(outs) == 1
        if not op.schema.returns:
            (outs,) = outs
            _check_count(op, outs, results)
        elif single:
            results = (results,)
        write_outs(len(outs), refuses, *outs, *[each.array for each in results])
        for out in outs:
            bump_version(out)
        if op.schema.returns:
            return outs[0] if single else tuple(outs)
        return None

    return write


def _check_count(op: Operator, outs: Sequence[object], results: Sequence[object]) -> None:
    """Raise an error for another number of tensors to write than there are results. Raises
    RuntimeError with both numbers.
    """
    if len(outs) != len(results):
        raise RuntimeError(
            f"{op.base_name}: expected an out= list of {len(results)} tensors, one for each "
            f"result, got {len(outs)}."
        )
