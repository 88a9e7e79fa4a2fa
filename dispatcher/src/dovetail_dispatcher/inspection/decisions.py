"""Decides, without running it, which kernels a call goes through, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    DispatchState,
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
    full_after,
)

from ..calls.plans.composition import Composition, argument_keys, call_keys, fused_plan
from ..calls.plans.conditions import condition_of, conditioned_kernels
from ..sockets import COMPILED_KERNEL
from ..table import registry
from ..table.computed_table import Entry, compute, without_fallthrough
from ..table.derivative_formula import Formula
from ..table.kernels import AUTOGRAD_FALLBACK, FORMULA, Kernel
from ..table.operator import Operator
from .argument_keys import key_names

_FUSED: Final = ", computed and recorded as one call"
_AUTOGRAD = ("AutogradFunctionality", "AutogradOther", "AutogradNestedTensor")


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel that the call goes through.

    Attributes
    ----------
    key
        The dispatch key that it is reached by.
    rule
        Why this kernel: the tag of the computed table.
    kernel
        Module and name of the function.
    source
        ``file:line`` of the function, or of its registration where it is not Python.
    registered_at
        ``file:line`` of the registration, and the plugin that made it.
    registered_for
        The key of the registration: that of the call, or an alias.
    distribution
        The distribution that registered it; None for a script.
    convention
        "tensor", "array", "boxed", "formula", "custom", ...
    note
        What it does to the rest of the call.
    condition
        The condition of the kernel in words; empty if it has none.
    taken
        Of a kernel with a condition: whether the call went to it. None if that is not known, as for
        all calls with the same keys, or was not asked.
    """

    key: str
    rule: str
    kernel: str
    source: str
    registered_at: str
    registered_for: str
    distribution: str | None
    convention: str
    note: str
    condition: str = ""
    taken: bool | None = None


class OfCall:
    """What knows the call that was decided.

    Attributes
    ----------
    call
        Arguments of `decide`: operator, call key, dispatch state, and the keys of a redispatch. Not
        part of the decision as data.
    """

    __slots__ = ("call",)

    call: tuple[Operator, int, DispatchState, DispatchKeySet | None]


@dataclass(frozen=True, slots=True)
class Decision(OfCall):
    """Which kernels a call goes through, and why: the same for all calls with the same keys.

    Attributes
    ----------
    operator, schema, defined_at
        The overload, its schema, and where that was defined.
    merged
        The keys of all arguments.
    included, excluded
        The keys that the state of this task adds to, and takes from, these; none for a redispatch.
    fallthrough
        The keys passed over because no kernel of this operator stands there.
    keys
        What is left.
    chosen
        The highest of these: where the call goes.
    chain
        The kernels, in the order in which they are reached. Those with conditions stand before the
        last one.
    records_graph
        Whether a graph is recorded for backward.
    """

    operator: str
    schema: str
    defined_at: str
    merged: tuple[str, ...]
    included: tuple[str, ...]
    excluded: tuple[str, ...]
    fallthrough: tuple[str, ...]
    keys: tuple[str, ...]
    chosen: str
    chain: tuple[Step, ...]
    records_graph: bool

    @property
    def is_composite(self) -> bool:
        """Whether the call ends at a kernel that is made of other operators."""
        if any([step.taken for step in self.chain]):
            return False
        return bool(self.chain) and self.chain[-1].registered_for.startswith("Composite")

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain dicts, tuples and strings."""
        return asdict(self)


def decide(
    op: Operator,
    key: int,
    now: DispatchState,
    keys: DispatchKeySet | None = None,
    values: Sequence[object] | None = None,
) -> Decision:
    """Return which kernels a call of `op` goes through.

    Parameters
    ----------
    op
        The operator.
    key
        The call key: the or-ed signatures of the arguments and the state.
    now
        The dispatch state.
    keys
        The keys of a redispatch, which are taken as they are. Default: an ordinary call.
    values
        All arguments of one call, of which conditions are asked. Default: they are not asked.
    """
    merged = argument_keys(key)
    wanted = call_keys(key, now) if keys is None else keys
    left = without_fallthrough(op, wanted, registry.fallbacks)
    composition = Composition(op, wanted, key, now)
    chain = tuple(_steps(composition, left))
    asked = conditioned_kernels(
        composition, None if keys is None else wanted.highestPriorityTypeId()
    )
    if asked:
        ends = bool(chain) and chain[-1].convention not in (FORMULA, AUTOGRAD_FALLBACK)
        before, last = (chain[:-1], chain[-1:]) if ends else (chain, ())
        offered = _asked(composition, asked, values)
        if any([step.taken for step in offered]):
            last = tuple([replace(step, note="not reached") for step in last])
        chain = (*before, *offered, *last)
    decision = Decision(
        operator=op.qualified_name,
        schema=str(op.schema),
        defined_at=op.defined_at or "",
        merged=key_names(merged),
        included=key_names(now.included) if keys is None else (),
        excluded=key_names(now.excluded) if keys is None else (),
        fallthrough=tuple(k.name for k in wanted if k not in left),
        keys=key_names(left),
        chosen=left.highestPriorityTypeId().name,
        chain=chain,
        records_graph=_records(composition)
        and any(
            [s.convention in (FORMULA, AUTOGRAD_FALLBACK) or s.note.endswith(_FUSED) for s in chain]
        ),
    )
    object.__setattr__(decision, "call", (op, key, now, keys))
    return decision


def _steps(composition: Composition, keys: DispatchKeySet) -> list[Step]:
    """Return the kernels of the call from `keys` down."""
    op = composition.op
    steps: list[Step] = []
    while True:
        keys = without_fallthrough(op, keys, registry.fallbacks)
        key = keys.highestPriorityTypeId()
        entry = compute(op, key, registry.fallbacks)
        if entry.kernel is None:
            return steps
        below, note = _below(key, entry, composition.replaced(keys=keys))
        steps.append(_step(key, entry.kernel, entry.tag, note))
        if below is None or not below & keys:
            return steps
        keys = keys & below


def _asked(
    composition: Composition, kernels: Sequence[Kernel], values: Sequence[object] | None
) -> list[Step]:
    """Return the kernels with conditions that the call is offered to, with what became of it."""
    steps: list[Step] = []
    done = False
    for kernel in kernels:
        taken, note = None, "gets the calls that its condition is true for; others go on"
        if done:
            note = "not asked, because an earlier kernel takes the call"
        elif values is not None:
            taken = done = bool(condition_of(composition, kernel)(*values))
            note = "takes the call" if taken else "its condition is false, and the call goes on"
        step = _step(kernel.key, kernel, "kernel with a condition", note)
        steps.append(replace(step, condition=kernel.why, taken=taken))
    return steps


_ARRAYS = "gets the backend's arrays; the route unwraps and wraps"


def _compiled(kernel: Kernel) -> str:
    """Return in words whether compiled code stands for a kernel in routes."""
    function = kernel.fast_path or kernel.fn
    if location := getattr(function, "compiled_at", None):
        return f"; compiled ({location})"
    return "" if COMPILED_KERNEL.plug(function) is function else "; compiled"


def _below(
    key: DispatchKey, entry: Entry, composition: Composition
) -> tuple[DispatchKeySet | None, str]:
    """Return the keys that a kernel hands the call on to, None if it does not; and that in
    words.
    """
    assert entry.kernel is not None
    nothing = "nothing to record"
    match entry.kernel.convention:
        case "formula":
            what = f"records {_node(composition.op)}" if _records(composition) else nothing
            return after_autograd_keyset, f"{what}; goes on below Autograd"
        case "autograd fallback":
            unknown = "records that the derivative is unknown"
            what = unknown if _records(composition) else nothing
            return after_autograd_keyset, f"{what}; goes on below Autograd"
        case "count writes":
            return (
                after_ADInplaceOrView_keyset,
                "counts up the versions of the written arguments; goes on below",
            )
        case "passed on":
            return full_after(key), "nothing to do for these tensors; goes on below"
        case "array":
            return None, _ARRAYS + _compiled(entry.kernel)
        case "boxed":
            return None, "backend fallback: gets the operator and the arguments"
        case "wrapped":
            return (
                None,
                "the innermost function transform interprets the call, and makes calls on what is "
                "inside",
            )
    if key.functionality in _AUTOGRAD and entry.tag != "math kernel":
        return (
            after_autograd_keyset,
            "if it redispatches below Autograd, the call goes on as follows",
        )
    if fused_plan(composition, entry.kernel) is not None:
        fusion = composition.op.fusion
        assert fusion is not None
        return None, f"composite: {fusion.outer} of {fusion.inner}{_FUSED}"
    if entry.kernel.key.name.startswith("Composite"):
        return None, "composite: made of other operators, which are dispatched in turn"
    return None, "gets tensors"


def _records(composition: Composition) -> bool:
    """Return whether a call records a graph, if what it runs can: an argument may require grad,
    and a result be differentiable.
    """
    op = composition.op
    derivative = op.derivative
    differentiable = (
        derivative.output_differentiability if isinstance(derivative, Formula) else None
    )
    if differentiable is not None and not any(differentiable):
        return False
    has_tensors = any(["Tensor" in str(each.real_type) for each in op.schema.returns])
    return composition.records and (has_tensors or op.schema.is_mutable)


def _node(op: Operator) -> str:
    """Return what the graph calls the node of `op`."""
    derivative = op.derivative
    return derivative.name if isinstance(derivative, Formula) else "the node of its formula"


def _step(key: DispatchKey, kernel: Kernel, rule: str, note: str) -> Step:
    return Step(
        key=key.name,
        rule=rule,
        kernel=kernel.name,
        source=kernel.source,
        registered_at=kernel.origin,
        registered_for=kernel.key.name,
        distribution=kernel.distribution,
        convention=kernel.convention,
        note=note,
    )
