"""Finds the kernels that a call hands to a device: makes it once on copies of its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from dovetail_kernel import TensorBase

from ...table.base_operators import base_operator
from ...table.kernels import ARRAY, FORMULA
from ...table.operator import Operator
from ...table.tags import Tag
from ..decisions import Decision
from ..nested_tensors import map_tensors, tensors_in
from .kernel_names import listen, stop_listening, why_unknown
from .spans import Span, open_span
from .tracing import untraced

_DRAWS: Final = Tag.nondeterministic_seeded


def launched_kernels(
    op: Operator, decision: Decision, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[str, ...] | None:
    """Return the names of the kernels that a call hands to the device of its tensors, in order;
    None where they are not known.

    They are known of array kernels that a distribution registered, on a device that tells its
    launches. A call that draws random numbers is not made.
    """
    steps = decision.chain
    if not steps or steps[-1].convention != ARRAY or steps[-1].distribution is None:
        return None
    if any([each.convention != FORMULA for each in steps[:-1]]) or _DRAWS in op.handle.tags:
        return None
    backends = {tensor._backend for tensor in tensors_in([args, kwargs])}
    if len(backends) != 1:
        return None
    (backend,) = backends
    if not backend.is_device or not backend.arrays.launches_kernels:
        return None
    root = Span("launches", "trace")
    outer = open_span.get()
    try:
        given, named = untraced(map_tensors, (args, kwargs), _copy)
        listen(root)
        open_span.set(root)
        untraced(partial(op.handle, *given, **named))
        unknown = why_unknown()
        stop_listening(root)
        # A wrong index is heard of when the device is waited for: here, not in a later call.
        arrays = backend.arrays
        arrays.to_host(arrays.full((), 0, next(iter(arrays.native_dtypes.values()))))
    except Exception:
        return None  # the call itself would raise
    finally:
        open_span.set(outer)
        stop_listening(root)
    return None if unknown else tuple(root.launches)


def _copy(tensor: TensorBase) -> Any:
    return base_operator("clone")(base_operator("detach")(tensor))
