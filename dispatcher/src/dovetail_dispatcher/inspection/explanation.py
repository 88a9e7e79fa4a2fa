"""`explain`: which kernel a call would run, and why, found without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any, Final

from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    DispatchState,
    TensorBase,
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
    dispatch_state,
    state,
)

from ..calls.composition import (
    AUTOGRAD_FALLBACK,
    Composition,
    argument_keys,
    call_keys,
    compose,
    fused_plan,
)
from ..calls.entry_support import bound_call, call_key
from ..calls.overload_resolution import resolve_overload
from ..calls.overloads import OpOverload, OpOverloadPacket
from ..calls.printer import printed
from ..calls.templates.arguments import is_tensor_like
from ..registration.custom_ops import CustomOpDef
from ..table import registry
from ..table.computed_table import Entry, compute, without_fallthrough
from ..table.kernels import FORMULA, Kernel
from ..table.operator import Operator
from ..table.places import short_place
from .dumps import existing_operator

_FUSED: Final = ", computed and recorded as one call"
_AUTOGRAD = ("AutogradFunctionality", "AutogradOther", "AutogradNestedTensor")


@dataclass(frozen=True, slots=True)
class ArgumentKeys:
    """The dispatch keys that one argument brings.

    Attributes
    ----------
    name
        Name in the schema.
    value
        What it is, in a few words: ``float32[2, 3] on cpu``.
    keys
        Names of its dispatch keys, lowest priority first.
    """

    name: str
    value: str
    keys: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class Decision:
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
        The kernels, in the order in which they are reached.
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

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain dicts, tuples and strings."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Explanation(Decision):
    """Which kernels a call would run, and why. ``str`` prints a tree, `as_dict` and `as_json` give
    the same as data.

    Attributes
    ----------
    arguments
        The tensors of the call and their keys.
    route
        Source text of the composed callable; empty if there is none.
    error
        What the call would raise for want of a kernel; None if it would not.
    """

    arguments: tuple[ArgumentKeys, ...]
    route: str
    error: str | None

    def as_json(self, indent: int | None = 2) -> str:
        """Return the explanation as JSON text."""
        import json

        return json.dumps(self.as_dict(), indent=indent)

    def __str__(self) -> str:
        return "\n".join(_tree(self))


def explain(op: Any, /, *args: Any, **kwargs: Any) -> Explanation:
    """Say which kernels a call would run, and why, without running it.

    Parameters
    ----------
    op
        An operator: ``ops.aten.add``, ``ops.aten.add.Tensor``, a `CustomOpDef`, or a name,
        ``"aten::add.Tensor"``.
    *args, **kwargs
        The arguments of the call.

    Returns
    -------
    Explanation

    Raises
    ------
    RuntimeError
        If there is no such operator, or the arguments do not fit its schema.
    """
    operator = _operator_of(op, args, kwargs)
    values = bound_call(operator, args, kwargs)
    key = call_key(operator, values)
    now = dispatch_state(state())
    decision = decide(operator, key, now)
    route, error = "", None
    try:
        route = printed(compose(Composition(operator, call_keys(key, now), key, now))).source
    except (NotImplementedError, RuntimeError) as reason:
        error = f"{type(reason).__name__}: {reason}"
    return Explanation(
        **{field.name: getattr(decision, field.name) for field in fields(decision)},
        arguments=describe_arguments(operator, values),
        route=route,
        error=error,
    )


def decide(
    op: Operator, key: int, now: DispatchState, keys: DispatchKeySet | None = None
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
    """
    merged = argument_keys(key)
    wanted = call_keys(key, now) if keys is None else keys
    left = without_fallthrough(op, wanted, registry.fallbacks)
    composition = Composition(op, wanted, key, now)
    chain = tuple(_steps(composition, left))
    return Decision(
        operator=op.qualified_name,
        schema=str(op.schema),
        defined_at=op.defined_at or "",
        merged=_names(merged),
        included=_names(now.included) if keys is None else (),
        excluded=_names(now.excluded) if keys is None else (),
        fallthrough=tuple(k.name for k in wanted if k not in left),
        keys=_names(left),
        chosen=left.highestPriorityTypeId().name,
        chain=chain,
        records_graph=composition.records
        and any(
            s.convention in (FORMULA, AUTOGRAD_FALLBACK) or s.note.endswith(_FUSED) for s in chain
        ),
    )


def _operator_of(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operator:
    if isinstance(op, CustomOpDef):
        return op._operator
    if isinstance(op, OpOverload):
        return op._operator
    if isinstance(op, OpOverloadPacket):
        return resolve_overload(op._qualified_op_name, op._operators, args, kwargs)
    found = existing_operator(op)
    if not found.is_defined:
        registry.find_or_throw(found.name, found.overload)
    return found


def describe_arguments(op: Operator, values: Sequence[Any]) -> tuple[ArgumentKeys, ...]:
    """Return the keys of every tensor among the bound arguments `values` of a call."""
    described = []
    for argument, value in zip(op.schema.arguments, values, strict=True):
        if not is_tensor_like(argument):
            continue
        for position, item in enumerate(value if isinstance(value, list | tuple) else [value]):
            name = (
                f"{argument.name}[{position}]" if isinstance(value, list | tuple) else argument.name
            )
            keys = _key_names(item._signature) if isinstance(item, TensorBase) else ()
            described.append(ArgumentKeys(name, describe_value(item), keys))
    return tuple(described)


@lru_cache(maxsize=1024)
def _key_names(signature: int) -> tuple[str, ...]:
    return _names(argument_keys(signature))


def describe_value(value: Any) -> str:
    """Return what `value` is in a few words: ``float32[2, 3] on cpu, requires grad``."""
    if not isinstance(value, TensorBase):
        return f"{value!r} ({type(value).__name__})"
    shape, dtype, device, requires_grad = [read.__get__(value) for read in _READ]
    grad = ", requires grad" if requires_grad else ""
    return f"{str(dtype).rpartition('.')[2]}{list(shape)} on {device}{grad}"


_READ: Final = (TensorBase.shape, TensorBase.dtype, TensorBase.device, TensorBase.requires_grad)
"""Read past the class of the tensor: to describe one must not run the code of a subclass."""


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


def _below(
    key: DispatchKey, entry: Entry, composition: Composition
) -> tuple[DispatchKeySet | None, str]:
    """Return the keys that a kernel hands the call on to, None if it does not; and that in
    words.
    """
    assert entry.kernel is not None
    match entry.kernel.convention:
        case "formula":
            what = "records a node" if composition.records else "nothing to record"
            return after_autograd_keyset, f"{what}; goes on below Autograd"
        case "autograd fallback":
            what = (
                "records that the derivative is unknown"
                if composition.records
                else "nothing to record"
            )
            return after_autograd_keyset, f"{what}; goes on below Autograd"
        case "count writes":
            return (
                after_ADInplaceOrView_keyset,
                "counts up the versions of the written arguments; goes on below",
            )
        case "array":
            return None, "gets the backend's arrays; the route unwraps and wraps"
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
    if entry.tag == "math kernel":
        return None, "composite: made of other operators, which are dispatched in turn"
    return None, "gets tensors"


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


def _names(keys: DispatchKeySet) -> tuple[str, ...]:
    return tuple(key.name for key in keys)


def _tree(e: Explanation) -> list[str]:
    """Return the lines of the tree, of at most 100 columns where names are not longer."""
    taken = [key for key in e.excluded if key in e.merged or key in e.included]
    others = len(e.excluded) - len(taken)
    rest = f" ({others} more are excluded, but not among them)" if others else ""
    lines = [e.schema, f"├─ defined at {short_place(e.defined_at)}", "├─ arguments"]
    lines += _branches(
        [f"{a.name}: {a.value}: {', '.join(a.keys) or 'no keys'}" for a in e.arguments]
        or ["no tensors"]
    )
    lines += [
        "├─ keys",
        f"│  ├─ of the arguments: {', '.join(e.merged) or 'none'}",
        f"│  ├─ + included: {', '.join(e.included) or 'none'}",
        f"│  ├─ - excluded: {', '.join(taken) or 'none'}{rest}",
        f"│  ├─ - fallen through: {', '.join(e.fallthrough) or 'none'}",
        f"│  └─ = {', '.join(e.keys) or 'none'}, of which the highest is {e.chosen}",
        f"├─ a graph is {'' if e.records_graph else 'not '}recorded",
        "├─ kernels",
    ]
    for step in e.chain:
        lines += [
            f"│  ├─ {step.key} [{step.rule}]: {step.kernel}",
            *[f"│  │    {line}" for line in _of_step(step)],
        ]
    lines += ["│  └─ no further"] if e.chain else ["│  └─ none"]
    if e.error is not None:
        lines += ["└─ the call raises", *(f"     {line}" for line in e.error.splitlines())]
    else:
        lines += ["└─ route", *(f"     {line}" for line in e.route.splitlines())]
    return lines


def _branches(texts: list[str]) -> list[str]:
    return [
        f"│  {'├─' if position < len(texts) else '└─'} {text}"
        for position, text in enumerate(texts, 1)
    ]


def _of_step(step: Step) -> list[str]:
    named = step.distribution is None or f"({step.distribution}" in step.registered_at
    whose = "" if named else f" by {step.distribution}"
    alias = f" for {step.registered_for}" if step.registered_for != step.key else ""
    place, _, plugin = step.registered_at.partition(" (")
    registered = (
        f"registered{alias} at {short_place(place)}{f' ({plugin}' if plugin else ''}{whose}"
    )
    return [f"at {short_place(step.source)}", registered, step.note]


__all__ = [
    "ArgumentKeys",
    "Decision",
    "Explanation",
    "Step",
    "decide",
    "describe_arguments",
    "describe_value",
    "explain",
]
