"""Checks of all operators of a library: consistency of schema, kernels and rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import dovetail_autograd
from dovetail_aten import Tensor
from dovetail_autograd.transforms import pytree
from dovetail_dispatcher import _C, OpCheckError, OpOverload, Tag, opcheck, ops
from dovetail_dispatcher.testing import OpInfo, Skip, find_op_info
from dovetail_kernel import bfloat16, float16, float32, float64, get_default_device, int64

from .generated_inputs import Inputs, as_source, fitting_inputs

EXPLANATIONS: Final[dict[str, str]] = {
    "arguments": "some arguments are taken, so that there is something to check",
    "test_schema": "what is written to, and what shares memory, is what the schema says",
    "test_autograd_registration": "results that require grad do so because "
    "of a registered derivative",
    "test_faketensor": "on meta tensors results have the shapes and dtypes of real results",
    "test_aot_dispatch_dynamic": "forward and backward run, on real and on meta tensors alike",
    "gradcheck": "derivatives agree with numeric differentiation",
}
"""Every check, and what it shows."""

_SKIPPED_AS: Final[dict[str, str]] = {
    "test_schema": "schema",
    "test_autograd_registration": "autograd_registration",
    "test_faketensor": "meta",
    "test_aot_dispatch_dynamic": "meta_gradients",
    "gradcheck": "gradients",
}
"""What the checks are called where an `OpInfo` leaves them out."""


@dataclass
class CheckResult:
    """The result of one check of one operator.

    Attributes
    ----------
    operator, check
        Their names.
    state
        "passed", "failed" or "skipped".
    detail
        Why it failed or was skipped.
    reproducer
        A program that shows the failure again.
    """

    operator: str
    check: str
    state: str
    detail: str = ""
    reproducer: str = ""


def check_library(
    namespace: str, samples: dict[str, list[Inputs]] | None = None
) -> Iterator[CheckResult]:
    """Check every operator of a namespace, one result per operator and check.

    Parameters
    ----------
    namespace
        The namespace; its library is loaded if it is installed.
    samples
        Arguments by qualified name, for operators that generated ones do not fit. Default: none.

    Yields
    ------
    CheckResult

    Raises
    ------
    RuntimeError
        If the namespace has no operators.
    """
    dir(getattr(ops, namespace))  # loads it
    names = [name for name in _C._dispatch_get_all_op_names() if name.startswith(f"{namespace}::")]
    if not names:
        raise RuntimeError(
            f"namespace {namespace!r} has no operators. Install the library that has them, or "
            "import the module that "
            "registers them."
        )
    for name in sorted(names):
        yield from check_operator(name, (samples or {}).get(name))


def check_operator(name: str, samples: list[Inputs] | None = None) -> Iterator[CheckResult]:
    """Check one operator, one result per check.

    Parameters
    ----------
    name
        Qualified name, ``"vision::nms"`` or ``"aten::add.Tensor"``.
    samples
        Arguments to check it on. Default: those of its `OpInfo`; without one, generated from its
        schema.

    Yields
    ------
    CheckResult
    """
    qualified, _, overload = name.partition(".")
    namespace, _, base = qualified.partition("::")
    op: OpOverload = getattr(getattr(getattr(ops, namespace), base), overload or "default")
    refusals: list[str] = []
    info = None
    if samples is None:
        info = find_op_info(name)
        samples, refusals = fitting_inputs(op) if info is None else (inputs_of(info), [])
    if not samples:
        yield CheckResult(
            name,
            "arguments",
            "skipped",
            "no generated arguments fit, so nothing was checked. It said of them: "
            + "; ".join(refusals or ["nothing"]),
        )
        return
    yield CheckResult(
        name, "arguments", "passed", f"{len(samples)} sets: {', '.join(s.about for s in samples)}"
    )
    for check in list(EXPLANATIONS)[1:]:
        skips = [None if info is None else _skip_of(info, check, each) for each in samples]
        kept = [each for each, skip in zip(samples, skips, strict=True) if skip is None]
        if not kept:
            reasons = [skip.reason for skip in skips if skip is not None]
            yield CheckResult(name, check, "skipped", reasons[0])
            continue
        run = _gradcheck if check == "gradcheck" else _opcheck(check)
        yield _outcome(op, check, run, kept)


def _skip_of(info: OpInfo, check: str, inputs: Inputs) -> Skip | None:
    """Return why an operator leaves a check out, or these inputs of it."""
    # Derivatives are compared in double precision alone.
    dtype = float64 if check == "gradcheck" else inputs.dtype
    return info.skip_of(_SKIPPED_AS[check], get_default_device(), dtype, inputs.sample)


def inputs_of(info: OpInfo) -> list[Inputs]:
    """Return the samples of an operator: in double precision, for derivatives, and of integers."""
    device = get_default_device()
    writes = info.operator.schema.is_mutable
    both = [each for each in (float64, int64) if each in info.dtypes]
    return [
        Inputs(
            sample.arguments,
            sample.kwargs,
            f"{sample.name or f'sample {number}'} of {dtype.name}",
            sample.name,
            dtype,
        )
        for dtype in both or sorted(info.dtypes, key=str)[:1]
        for number, sample in enumerate(
            info.sample_inputs(device, dtype, info.supports_autograd and not writes)
        )
    ]


Check = Callable[[OpOverload, Inputs], str | None]
"""Raises if the check fails; returns why it was skipped, or None."""


def _outcome(op: OpOverload, check: str, run: Check, samples: list[Inputs]) -> CheckResult:
    skipped: list[str] = []
    for inputs in samples:
        try:
            reason = run(op, inputs.fresh())
        except Exception as failure:
            program = (
                "import dovetail\nop = "
                f"dovetail.ops.{op}\n{_CALLS[check].format(inputs=_listed(inputs))}"
            )
            cause = (
                failure.__cause__
                if isinstance(failure, OpCheckError) and failure.__cause__
                else failure
            )
            detail = f"{type(cause).__name__}: {str(cause).strip()}"
            return CheckResult(op.name(), check, "failed", f"on {inputs.about}: {detail}", program)
        if reason is not None:
            skipped.append(reason)
    if len(skipped) == len(samples):
        return CheckResult(op.name(), check, "skipped", skipped[0])
    return CheckResult(op.name(), check, "passed")


_CALLS: Final = {
    **{
        name: f"dovetail.library.opcheck(op, {{inputs}}, test_utils={name!r})"
        for name in EXPLANATIONS
        if name.startswith("test_")
    },
    "gradcheck": "dovetail.autograd.gradcheck(lambda *args: op(*args), {inputs})",
}


def _listed(inputs: Inputs) -> str:
    keyword = ", ".join(f"{name!r}: {as_source(value)}" for name, value in inputs.kwargs.items())
    return as_source(inputs.args) + (f", {{{keyword}}}" if keyword else "")


def _opcheck(check: str) -> Check:
    def run(op: OpOverload, inputs: Inputs) -> str | None:
        try:
            opcheck(op, inputs.args, inputs.kwargs, test_utils=check)
        except OpCheckError as failure:
            reason = str(failure.__cause__)
            if isinstance(failure.__cause__, NotImplementedError) and reason.startswith(
                "the derivative for "
            ):
                return reason  # as the formula itself says: nothing is wrong silently
            raise
        return None

    return run


def _gradcheck(op: OpOverload, inputs: Inputs) -> str | None:
    """Compare the derivative with numeric differentiation where there is one to compare."""
    if Tag.nondeterministic_seeded in op.tags:
        return "it is random"
    if op._schema.is_mutable:
        return "it writes to its arguments"
    if not any([_is_double(t) for t in _tensors(inputs.args)]):
        return "no argument is a double that requires grad"
    results = _tensors([op(*inputs.args, **inputs.kwargs)])
    if not any([t.requires_grad for t in results]):
        return "no result requires grad"
    if any([t.dtype in (float32, float16, bfloat16) for t in results]):
        return "a result is less precise than double"
    if any([t.dtype.is_floating_point and not bool(t.detach().isfinite().all()) for t in results]):
        return "a result is not finite"
    variables = [t for t in _tensors(inputs.args) if _is_double(t)]

    def of_variables(*values: Tensor) -> Any:
        new = {id(variable): value for variable, value in zip(variables, values, strict=True)}
        given = pytree.map_leaves(lambda value: new.get(id(value), value), inputs.args)
        result = op(*given, **inputs.kwargs)
        return tuple(result) if isinstance(result, list) else result

    try:
        dovetail_autograd.gradcheck(of_variables, variables, nondet_tol=1e-9)
    except NotImplementedError as missing:  # which backward says, too: nothing is wrong silently
        return str(missing)
    return None


def _is_double(tensor: Tensor) -> bool:
    return tensor.requires_grad and tensor.dtype is float64


def _tensors(values: object) -> list[Tensor]:
    return [each for each in pytree.flatten(values)[0] if isinstance(each, Tensor)]
