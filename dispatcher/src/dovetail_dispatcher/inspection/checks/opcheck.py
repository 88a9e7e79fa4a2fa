"""`opcheck`: checks on example arguments that what was registered for an operator fits together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dovetail_kernel import (
    DispatchKey,
    TensorBase,
    after_ADInplaceOrView_keyset,
    all_backends,
    backend_key,
    restoring,
)

from ...calls.entry_support import bound_call, call_key
from ...calls.fake_context import DynamicSizes
from ...calls.overloads import OpOverload, OpOverloadPacket
from ...calls.plans.composition import argument_keys
from ...interception.python_dispatch import TorchDispatchMode
from ...registration.custom_op_definition import CustomOpDef
from ...schema import AliasInfo, FunctionSchema
from ...sockets import BASE_OPERATORS
from ...table import registry
from ...table.base_operators import base_operator
from ...table.computed_table import compute
from ...table.operator import Operator
from ...table.tags import Tag
from ..nested_tensors import map_tensors, tensors_in
from .check_reproducer import reproducer
from .result_comparison import compare_results


class OpCheckError(Exception):
    """Raised if a check of `opcheck` fails; ``__cause__`` is the reason."""


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: Sequence[object],
    kwargs: Mapping[str, object] | None = None,
    *,
    test_utils: str | Sequence[str] | None = None,
    raise_exception: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
) -> dict[str, Any]:
    """Check an operator on example arguments; call it several times with relevantly different
    arguments.

    Parameters
    ----------
    op
        The operator; a packet must have a single overload.
    args, kwargs
        Arguments of a call; they are copied first. Derivatives are checked if one requires grad.
    test_utils
        The checks to run; default: all.

        ``"test_schema"``: the kernel's writes and the memory shared by its results match the
        schema. (The sharing of a composite's results is checked by the operators that it calls.)
        ``"test_autograd_registration"``: results that require grad do so because of a derivative at
        an Autograd key. ``"test_faketensor"``: results for meta tensors are meta tensors with the
        shape, dtype and structure of real results. For shapes with a
        `get_ctx().new_dynamic_size()`, the rank, the other sizes, and the limits of the dynamic
        size are compared. ``"test_aot_dispatch_dynamic"``: forward and backward run, and on meta
        tensors give gradients of the same shapes and dtypes. (PyTorch compiles the operator for
        this check; nothing is compiled here.)
    raise_exception
        Raise at the first failed check; otherwise run all checks, and return the failures.
    rtol, atol
        Accepted and ignored: no check compares floating-point values.

    Returns
    -------
    dict
        A dict from the name of each check to ``"SUCCESS"`` or the exception.

    Raises
    ------
    OpCheckError
        If a check fails; the message has the check, the reason and a program that reproduces it.
    ValueError
        For an unknown check, or if `op` is of another type.
    TypeError
        If `args` is not a sequence.

    Notes
    -----
    This does not check the values of derivatives: use ``autograd.gradcheck``.
    """
    overload = _overload(op)
    names = (
        tuple(CHECKS)
        if test_utils is None
        else (test_utils,)
        if isinstance(test_utils, str)
        else tuple(test_utils)
    )
    known = (*CHECKS, "test_aot_dispatch_static")
    if not set(names) <= set(known):
        raise ValueError(
            f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {known} "
            "but it was not."
        )
    if isinstance(args, TensorBase) or not isinstance(args, Sequence):
        raise TypeError(
            f"opcheck(): args must be a sequence of arguments, not {type(args).__name__}. "
            "Pass a tuple: opcheck(op, (x,))."
        )
    operator = overload._operator
    values = bound_call(operator, tuple(args), dict(kwargs or {}))
    results: dict[str, Any] = {}
    for name in names:
        try:
            CHECKS.get(name, _check_both_ways)(operator, values)
        except Exception as reason:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {reason}\n\nThe operator is "
                    f"{operator.schema}, defined at {operator.defined_at}. To see it "
                    f"again:\n\n{reproducer(operator, values, name)}"
                ) from reason
            results[name] = reason
        else:
            results[name] = "SUCCESS"
    return results


def _overload(op: object) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        overloads = op.op_overloads()
        if len(overloads) == 1:
            return overloads[0]
        raise ValueError(
            f"opcheck(op, ...): {op} has the overloads {', '.join(op.overloads())}. Give one of "
            f"them: {op}.{op.overloads()[0]}"
        )
    if not isinstance(op, OpOverload):
        raise ValueError(
            "opcheck(op, ...): op must be instance of OpOverload, e.g. ops.aten.sin.default, or "
            f"what custom_op returned, got {type(op)}. Look it up in dovetail.ops."
        )
    return op


# -- the checks ------------------------------------------------------------------------------------


def _check_schema(op: Operator, values: Sequence[object]) -> None:
    reached = _reached(op, values)
    given = [_copied(value) for value in values]
    before = [[_content(t) for t in tensors_in(value)] for value in given]
    outputs = _run(op, given)
    for argument, value, contents in zip(op.schema.arguments, given, before, strict=True):
        written = [_content(t) for t in tensors_in(value)] != contents
        if written and not argument.is_write:
            raise RuntimeError(
                f"Argument {argument.name} is not defined as mutable but was mutated. Write to a "
                "copy, or declare it: "
                f"mutates_args=({argument.name!r},), in a schema Tensor(a!) {argument.name}."
            )
    if op.handle not in reached or op.name in BASE_OPERATORS.plug.sharing:
        return  # what a composite shares is said by the operators it is made of
    seen: list[tuple[int, TensorBase]] = []
    for number, output in enumerate(outputs):
        for tensor in tensors_in(output):
            for argument, value in zip(op.schema.arguments, given, strict=True):
                declared = _may_alias(op.schema, argument.alias_info, number)
                if not declared and any([_overlap(tensor, t) for t in tensors_in(value)]):
                    raise RuntimeError(
                        f"Argument {argument.name} is not defined to alias output but was "
                        "aliasing. Return a copy "
                        f"(clone), or declare it: Tensor(a) {argument.name} and a return Tensor(a)."
                    )
            for other, earlier in seen:
                if other != number and _overlap(tensor, earlier):
                    raise RuntimeError(
                        f"Outputs {other} and {number} alias unexpectedly. Return copies (clone)."
                    )
            seen.append((number, tensor))


def _check_autograd_registration(op: Operator, values: list[object]) -> None:
    if not any(
        [t.requires_grad for value in values for t in tensors_in(value)]
    ) or _has_autograd_kernel(op, values):
        return
    given = [_copied(value) for value in values]
    keys = argument_keys(call_key(op, given)) & after_ADInplaceOrView_keyset
    inputs = {id(t) for value in given for t in tensors_in(value)}
    result = op.handle.redispatch(keys, *_positional(op, given), **_keyword(op, given))
    outputs = [t for output in _outputs(op, result) for t in tensors_in(output)]
    if any([t.requires_grad for t in outputs if id(t) not in inputs]):
        raise RuntimeError(
            f"{op.qualified_name}: at least one output of this operator has requires_grad=True but "
            "the operator does not have an autograd kernel defined at an autograd key (e.g. "
            "DispatchKey::Autograd). This could mean that you have incorrectly registered an "
            "autograd kernel to a non-Autograd DispatchKey, which may lead to silently incorrect "
            "results. If your operator consists of regular operations, consider not using an "
            "operator at all or registering it as CompositeImplicitAutograd. If you have an "
            "autograd.Function registered to a backend (CPU/CUDA) key, the correct location for it "
            "is the Autograd key."
        )


@restoring(*DynamicSizes.variables)
def _check_fake(op: Operator, values: Sequence[object]) -> None:
    if _depends_on_data(_reached(op, values)):
        return
    real = _run(op, [_copied(value) for value in values])
    with DynamicSizes() as sizes:
        fake = _run(op, _without_data(op, values))
    again, other_sizes = fake, sizes
    if sizes.given:
        with DynamicSizes(sizes) as other_sizes:
            again = _run(op, _without_data(op, values))
    limits = {
        (size, other): (least, greatest)
        for (size, least, greatest), (other, *_) in zip(sizes.given, other_sizes.given, strict=True)
    }
    compare_results(op, real, fake, again, limits, "the output")


@restoring(*DynamicSizes.variables)
def _check_both_ways(op: Operator, values: Sequence[object]) -> None:
    real = _gradients(op, values, meta=False)
    if not _takes_storages(op) and not _depends_on_data(_reached(op, values)):
        with DynamicSizes():
            fake = _gradients(op, values, meta=True)
        compare_results(op, [real], [fake], [fake], {}, "the gradients")


CHECKS: Final[dict[str, Callable[[Operator, list[Any]], None]]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd_registration,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_both_ways,
}


# -- parts -----------------------------------------------------------------------------------------


def _takes_storages(op: Operator) -> bool:
    """Return whether an argument is memory itself, which nothing stands for without data."""
    return any([a.real_type.schema_str == "Storage" for a in op.schema.arguments])


def _gradients(op: Operator, values: Sequence[object], *, meta: bool) -> list[Any]:
    """Return the gradients of the tensors that require grad, of the sum of all outputs."""
    leaves = _without_data(op, values) if meta else [_copied(value) for value in values]
    # The operator may write to what it is given, but not to leaves.
    given = [map_tensors(value, base_operator("clone")) for value in leaves]
    outputs = _run(op, given)
    written = [value for a, value in zip(op.schema.arguments, given, strict=True) if a.is_write]
    for tensor in {id(t): t for value in (*outputs, *written) for t in tensors_in(value)}.values():
        if tensor.requires_grad:
            tensor.backward(base_operator("ones_like")(tensor), retain_graph=True)
    return [t.grad for value in leaves for t in tensors_in(value) if t.requires_grad]


def _has_autograd_kernel(op: Operator, values: list[Any]) -> bool:
    keys = argument_keys(call_key(op, values))
    for backend in all_backends():
        key = backend_key("AutogradFunctionality", backend)
        if key in keys:
            return compute(op, key, registry.fallbacks).tag in (
                "kernel",
                "autograd kernel",
                "math kernel",
            )
    return compute(op, DispatchKey.AutogradOther, registry.fallbacks).tag != "backend fallback"


class _Reached(TorchDispatchMode):
    """Notes the operators that calls come down to."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[Any] = []

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.operators.append(func)
        return func(*args, **(kwargs or {}))


def _reached(op: Operator, values: Sequence[object]) -> list[Any]:
    """Return the operators that a call comes down to: itself, or what it is composed of."""
    mode = _Reached()
    mode.around(_run, op, [_copied(value) for value in values])
    return mode.operators


def _depends_on_data(operators: list[Any]) -> bool:
    """Return whether a shape or number is known only from data, which meta tensors do not have."""
    tags = {tag for each in operators for tag in each.tags}
    return Tag.data_dependent_output in tags or Tag.dynamic_output_shape in tags


def _run(op: Operator, values: Sequence[object]) -> list[Any]:
    return _outputs(op, op.handle(*_positional(op, values), **_keyword(op, values)))


def _positional(op: Operator, values: Sequence[object]) -> list[Any]:
    return [v for a, v in zip(op.schema.arguments, values, strict=True) if not a.kwarg_only]


def _keyword(op: Operator, values: Sequence[object]) -> dict[str, Any]:
    return {a.name: v for a, v in zip(op.schema.arguments, values, strict=True) if a.kwarg_only}


def _outputs(op: Operator, result: Any) -> list[Any]:
    return list(result) if len(op.schema.returns) > 1 else [result] if op.schema.returns else []


def _without_data(op: Operator, values: Sequence[object]) -> list[Any]:
    """Return the arguments on the meta device, which a device among them is replaced by."""
    return [
        "meta"
        if value is not None and a.real_type.schema_str.startswith("Device")
        else _copied(value, meta=True)
        for a, value in zip(op.schema.arguments, values, strict=True)
    ]


def _copied(value: object, *, meta: bool = False) -> Any:
    """Return an argument with fresh leaves for its tensors, on the meta device if so asked."""

    def copy(tensor: TensorBase) -> TensorBase:
        made: TensorBase = base_operator("clone")(base_operator("detach")(tensor))
        if meta:
            made = base_operator("move")(made, device="meta")
        return made.requires_grad_(tensor.requires_grad)

    return map_tensors(value, copy)


def _content(tensor: TensorBase) -> Any:
    if tensor.is_meta:
        return tensor._version
    host = tensor._backend.arrays.to_host(tensor.array)
    return tuple(tensor.shape), tensor.dtype, host.tobytes()


def _may_alias(schema: FunctionSchema, argument_alias: AliasInfo | None, number: int) -> bool:
    own = schema.returns[number].alias_info
    if argument_alias is None or own is None:
        return False
    own = own.contained or own  # of a list: what its tensors are views of
    return bool(
        (argument_alias.before_set | argument_alias.after_set) & (own.before_set | own.after_set)
    )


def _overlap(a: TensorBase, b: TensorBase) -> bool:
    if a is b or (a._storage is not None and a._storage is b._storage):
        return True
    if a._backend is not b._backend or a.is_meta:
        return False
    return a._backend.arrays.may_overlap(a.array, b.array)
