"""Each check of `dovetail.testing` passes on an operator that is sound, and fails on one that is
broken in that respect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.library import Library, register_autograd, register_fake, register_vmap
from dovetail.testing import (
    ErrorInput,
    OpInfo,
    SampleInput,
    Skip,
    TensorMaker,
    check_op_info,
    checks,
    find_op_info,
    floating_types,
    op_infos,
)
from dovetail_dispatcher.table.batching_rule import BatchingRule
from dovetail_dispatcher.table.updates.changes import Change, take_back
from dovetail_dispatcher.table.updates.rule_registration import set_batching_rule
from dovetail_dispatcher.testing import register_op_infos
from dovetail_kernel import Device

CPU = Device("cpu")
Break = Callable[[Library], None]


def samples(info: OpInfo, device: Device, dtype: Any, requires_grad: bool) -> Iterator[SampleInput]:
    make = TensorMaker(device=device, dtype=dtype, requires_grad=requires_grad)
    for shape in ((2, 3), (), (0, 3)):
        yield SampleInput(make(shape))


def errors(info: OpInfo, device: Device) -> Iterator[ErrorInput]:
    yield ErrorInput(SampleInput(dt.arange(3)), TypeError, "must be floating point")


def cube(x: Any) -> Any:
    if not np.issubdtype(x.dtype, np.floating) or x.dtype == np.float16:
        raise TypeError("x must be floating point, float32 or float64. Convert it.")
    return x * x * x


def cube_backward(ctx: Any, grad: Any) -> Any:
    (x,) = ctx.saved_tensors
    return grad * x * x * 3


def save(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


CUBE = OpInfo(
    name="sound::cube",
    dtypes=floating_types(),
    sample_inputs_func=samples,
    error_inputs_func=errors,
    ref=lambda x: x**3,
)


def define(
    library: Library,
    kernel: Callable[..., Any] = cube,
    backward: Callable[..., Any] | None = cube_backward,
    fake: Callable[..., Any] = dt.empty_like,
) -> None:
    """Define the cube of a tensor, with one part or another replaced."""
    library.define("cube(Tensor x) -> Tensor")
    library.array_impl("cube", kernel, "CPU")
    register_fake("sound::cube", fake, lib=library)
    if backward is not None:
        register_autograd("sound::cube", backward, setup_context=save, lib=library)


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("sound", "DEF")
    yield made
    made._destroy()


def outcome(info: OpInfo, check: str) -> tuple[str, str]:
    (found,) = check_op_info(info, device=CPU, names=(check,))
    return found.state, found.detail


NAMES = [check.name for check in checks()]
NOT_ABOUT_IT = {"out", "inplace", "vmap_inplace", "constants"}


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
@pytest.mark.parametrize("name", NAMES)
def test_a_sound_operator_passes(library: Library, name: str) -> None:
    define(library)
    state, detail = outcome(CUBE, name)
    assert state == ("skipped" if name in NOT_ABOUT_IT else "passed"), detail


# -- broken operators ------------------------------------------------------------------------------


def in_memory_order(x: Any) -> Any:
    return cube(x.ravel(order="K").reshape(x.shape))


def writes(x: Any) -> Any:
    result = cube(x)
    x *= 2
    return result


def transposed_like(x: Any) -> Any:
    return dt.empty(x.shape[::-1], dtype=x.dtype, device=x.device).permute(
        tuple(range(x.ndim))[::-1]
    )


def once_differentiable(ctx: Any, grad: Any) -> Any:
    x = ctx.saved_tensors[0].detach()
    return grad * x * x * 3


def other_with_graph(ctx: Any, grad: Any) -> Any:
    return cube_backward(ctx, grad) * (2 if dt.is_grad_enabled() else 1)


def by_memory_order(ctx: Any, grad: Any) -> Any:
    return cube_backward(ctx, grad) * (1 if ctx.saved_tensors[0].is_contiguous() else 2)


def other_on_meta(ctx: Any, grad: Any) -> Any:
    return cube_backward(ctx, grad.double() if grad.is_meta else grad).to(dt.float64) * (
        dt.ones((), dtype=dt.complex128, device="meta") if grad.is_meta else 1
    )


def twice(ctx: Any, grad: Any) -> Any:
    return cube_backward(ctx, grad) * 2


def wrong_rule(library: Library) -> None:
    define(library)
    register_vmap("sound::cube", lambda info, dims, x: (x * x * x + 1, dims[0]), lib=library)


def constant_rule(library: Library) -> None:
    define(library)
    register_vmap(
        "sound::cube",
        lambda info, dims, x: (
            (x * x * x) * x.detach() / x.detach() + x * 0 + x - x.detach(),
            dims[0],
        ),
        lib=library,
    )


def through_a_wrong_rule(library: Library) -> None:
    """Make the gradient of an operator whose batching rule is wrong."""
    library.define("slope(Tensor grad, Tensor x) -> Tensor")
    library.impl("slope", lambda grad, x: grad * x * x * 3, "CompositeExplicitAutograd")
    register_vmap("sound::slope", lambda info, dims, grad, x: (grad * x * x * 4, 0), lib=library)
    define(library, backward=lambda ctx, grad: dt.ops.sound.slope(grad, ctx.saved_tensors[0]))


def autocast_to_half(library: Library) -> None:
    define(library)
    library.impl("cube", lambda x: (x * x * x).to(dt.float16), "AutocastCPU")


def gradient_from_inside(library: Library) -> None:
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x * x * x, "CPU")
    register_fake("sound::cube", dt.empty_like, lib=library)


BROKEN: dict[str, tuple[Break, str]] = {
    "reference": (lambda lib: define(lib, lambda x: cube(x) * 2), "are not close"),
    "dtypes": (lambda lib: define(lib, lambda x: x * x * x), "not among its dtypes, but taken"),
    "errors": (lambda lib: define(lib, lambda x: x * x * x), "is taken, but should be refused"),
    "layouts": (lambda lib: define(lib, in_memory_order), "are not close"),
    "meta": (lambda lib: define(lib, fake=lambda x: x.new_empty(2)), "not "),
    "meta_strides": (lambda lib: define(lib, fake=transposed_like), "strides"),
    "autocast": (autocast_to_half, "instead of"),
    "schema": (lambda lib: define(lib, writes), "x"),
    "autograd_registration": (gradient_from_inside, "does not have an autograd kernel"),
    "gradients": (lambda lib: define(lib, backward=twice), "Jacobian"),
    "gradgrad": (lambda lib: define(lib, backward=once_differentiable), "Jacobian|require"),
    "array_gradients": (lambda lib: define(lib, backward=other_with_graph), "are not close"),
    "layout_gradients": (lambda lib: define(lib, backward=by_memory_order), "are not close"),
    "meta_gradients": (lambda lib: define(lib, backward=other_on_meta), ""),
    "forward_ad": (lambda lib: define(lib, backward=twice), "are not close"),
    "vmap": (wrong_rule, "are not close"),
    "batched_gradients": (through_a_wrong_rule, "are not close"),
    "vmap_gradients": (constant_rule, "are not close"),
    "vmap_of_gradients": (through_a_wrong_rule, "are not close"),
}
"""By check, an operator that is broken, and what the check says."""


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_operator_fails(library: Library, name: str) -> None:
    make, text = BROKEN[name]
    make(library)
    state, detail = outcome(CUBE, name)
    assert state == "failed"
    assert text in detail or any(each in detail for each in text.split("|"))
    assert "The sample is" in detail or name in ("dtypes", "errors")


@pytest.mark.cpu_only(reason="the kernels are replaced on the cpu")
@pytest.mark.parametrize(
    ("check", "variant"), [("out", "exp.out"), ("inplace", "exp_"), ("vmap_inplace", "exp_")]
)
def test_a_variant_that_gives_something_else_fails(check: str, variant: str) -> None:
    changes: list[Change] = []
    with dt.library._scoped_library("aten", "IMPL") as library:
        info = find_op_info("aten::exp")
        assert info is not None
        assert outcome(info, check)[0] == "passed"
        if check == "vmap_inplace":
            rule = BatchingRule(lambda info, dims, x: (x.zero_(), dims[0]))
            set_batching_rule("aten::exp_", "", rule, changes)
        else:
            library.impl(
                variant,
                lambda self, *, out=None: (self if out is None else out).zero_(),
                "CPU",
                allow_override=True,
            )
        try:
            assert outcome(info, check)[0] == "failed"
        finally:
            take_back(changes)


def test_samples_that_differ_from_call_to_call_fail(library: Library) -> None:
    define(library)
    calls = count()

    def other_samples(*args: Any) -> Iterator[SampleInput]:
        yield SampleInput(dt.full((2,), float(next(calls)), dtype=args[2]))

    assert outcome(replace(CUBE, sample_inputs_func=other_samples), "samples")[0] == "failed"


def test_a_gradient_where_none_is_expected_fails_and_one_that_is_missing(library: Library) -> None:
    define(library)
    state, detail = outcome(replace(CUBE, supports_autograd=False), "constants")
    assert (state, "supports_autograd is False" in detail) == ("failed", True)
    assert outcome(replace(CUBE, supports_autograd=True), "constants")[0] == "skipped"


def test_a_missing_derivative_fails(library: Library) -> None:
    define(library, backward=None)
    state, _ = outcome(CUBE, "gradients")
    assert state == "failed"


@pytest.mark.cpu_only(reason="the operator has a kernel for the cpu")
def test_an_error_of_another_type_or_text_fails(library: Library) -> None:
    define(library)

    def other(error: type[Exception], text: str) -> OpInfo:
        refused = ErrorInput(SampleInput(dt.arange(3, device=CPU)), error, text)
        return replace(CUBE, error_inputs_func=lambda info, device: [refused])

    assert outcome(other(TypeError, "floating"), "errors")[0] == "passed"
    assert "instead of IndexError" in outcome(other(IndexError, "floating"), "errors")[1]
    assert "does not match 'a number'" in outcome(other(TypeError, "a number"), "errors")[1]


def test_a_skip_is_an_outcome_with_its_reason(library: Library) -> None:
    define(library)
    assert outcome(replace(CUBE, skips=(Skip("meta", "no shapes"),)), "meta") == (
        "skipped",
        "no shapes",
    )


def test_an_unknown_check_is_refused_with_those_that_there_are(library: Library) -> None:
    define(library)
    with pytest.raises(ValueError, match=r"there is no check 'metta'\. There are: samples,"):
        outcome(CUBE, "metta")


def test_every_check_says_what_it_shows() -> None:
    assert all(check.about.startswith(("Check", "Compare")) for check in checks())
    assert len(set(NAMES)) == len(NAMES)


def test_a_namespace_is_checked_operator_by_operator(library: Library) -> None:
    define(library)
    register_op_infos("sound", lambda: [CUBE])
    assert op_infos("sound") == [CUBE]
    found = list(dt.testing.check_op_infos("sound", device=CPU, names=("samples", "meta")))
    assert [(each.check, each.state) for each in found] == [
        ("samples", "passed"),
        ("meta", "passed"),
    ]
