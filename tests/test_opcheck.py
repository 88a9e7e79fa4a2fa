"""`opcheck` names what does not fit together in the registrations of an operator, with a program
that shows it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from devices import own_key

import dovetail
from dovetail import Tensor
from dovetail.library import Library, OpCheckError, Tag, custom_op, opcheck

CHECKS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


def like(x: Tensor) -> Tensor:
    return dovetail.empty_like(x)


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    """Makes custom ops ``ck::f`` of a schema; they are destroyed after the test."""
    made: list[Any] = []

    def make(
        schema: str, fn: Callable[..., Any], fake: Any = None, backward: Any = None, **kwargs: Any
    ) -> Any:
        op = custom_op("ck::f", fn, **{"mutates_args": (), "schema": schema, **kwargs})
        made.append(op)
        if fake is not None:
            op.register_fake(fake)
        if backward is not None:
            op.register_autograd(backward)
        return op

    yield make
    for op in made:
        op._lib._destroy()


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("ckl", "DEF")
    yield library
    library._destroy()


def failing(op: Any, *args: Any, **kwargs: Any) -> dict[str, str]:
    """Return the failures by name of the check."""
    results = opcheck(op, args, kwargs, raise_exception=False)
    assert tuple(results) == CHECKS
    return {name: str(reason) for name, reason in results.items() if reason != "SUCCESS"}


def test_an_operator_whose_registrations_fit_passes_every_check(make: Callable[..., Any]) -> None:
    op = make("(Tensor x) -> Tensor", lambda x: x * 2, like, lambda ctx, grad: grad * 2)
    assert failing(op, dovetail.ones(3, requires_grad=True)) == {}
    assert failing(op, dovetail.ones(3)) == {}


@pytest.mark.parametrize("name", ["sin", "relu", "sum", "unbind", "cumsum_", "t"])
def test_operators_of_the_base_library_pass(name: str) -> None:
    arguments = {"unbind": (1,), "cumsum_": (0,)}.get(name, ())
    op = getattr(dovetail.ops.aten, name)
    overload = op.default if name != "unbind" else op.int
    assert failing(overload, dovetail.rand(3, 4), *arguments) == {}


def test_a_write_that_is_not_declared_fails_the_schema_check(make: Callable[..., Any]) -> None:
    op = make(
        "(Tensor x, Tensor y) -> Tensor", lambda x, y: y.add_(1).clone(), lambda x, y: like(x)
    )
    x, y = dovetail.ones(2), dovetail.ones(2)
    assert (
        "Argument y is not defined as mutable but was mutated" in failing(op, x, y)["test_schema"]
    )
    assert y.tolist() == [1, 1]


def test_a_result_that_shares_memory_undeclared_fails_the_schema_check(lib: Library) -> None:
    lib.define("view(Tensor x) -> Tensor")
    lib.impl("view", lambda x: x[:1], own_key())
    lib.impl("view", lambda x: x[:1], "Meta")
    reasons = failing(dovetail.ops.ckl.view, dovetail.ones(2))
    assert "Argument x is not defined to alias output but was aliasing" in reasons["test_schema"]


@pytest.mark.parametrize(
    ("key", "fails"), [("CompositeImplicitAutograd", False), ("CompositeExplicitAutograd", True)]
)
def test_what_a_composite_shares_is_the_business_of_its_parts(
    lib: Library, key: str, fails: bool
) -> None:
    lib.define("same(Tensor x) -> Tensor")
    lib.impl("same", lambda x: x, key)
    assert ("test_schema" in failing(dovetail.ops.ckl.same, dovetail.ones(2))) is fails


def test_a_composite_of_parts_that_need_data_is_not_run_without(lib: Library) -> None:
    lib.define("places(Tensor x) -> Tensor")
    lib.impl("places", lambda x: x.nonzero(), "CompositeImplicitAutograd")
    assert failing(dovetail.ops.ckl.places, dovetail.ones(2)) == {}


def test_a_device_among_the_arguments_is_that_of_the_other_arguments(lib: Library) -> None:
    lib.define("move(Tensor(a) x, Device device) -> Tensor(a)")
    lib.impl("move", lambda x, device: x.to(device), "CompositeImplicitAutograd")
    assert failing(dovetail.ops.ckl.move, dovetail.ones(2), dovetail.ones(2).device) == {}


def test_two_results_that_share_memory_fail_the_schema_check(lib: Library) -> None:
    def twice(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.clone()
        return y, y[:1]

    lib.define("twice(Tensor x) -> (Tensor, Tensor)")
    lib.impl("twice", twice, "CompositeExplicitAutograd")
    assert (
        "Outputs 0 and 1 alias" in failing(dovetail.ops.ckl.twice, dovetail.ones(2))["test_schema"]
    )


def test_a_derivative_that_comes_from_inside_a_backend_kernel_is_found(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, own_key())
    lib.impl("f", like, "Meta")
    reasons = failing(dovetail.ops.ckl.f, dovetail.ones(2, requires_grad=True))
    assert (
        "does not have an autograd kernel defined at an autograd key"
        in reasons["test_autograd_registration"]
    )


@pytest.mark.parametrize(
    ("fake", "words"),
    [
        (
            lambda x: x.new_empty(7),
            "Shapes dovetail.Size([3]) and dovetail.Size([7]) are not equal",
        ),
        (lambda x: like(x).double(), "Dtypes dovetail.float32 and dovetail.float64 are not equal"),
        (None, "There was no fake impl registered for <CustomOpDef(ck::f)>"),
    ],
)
def test_a_fake_that_differs_from_the_kernel_fails(
    fake: Any, words: str, make: Callable[..., Any]
) -> None:
    op = make("(Tensor x) -> Tensor", lambda x: x * 2, fake)
    assert words in failing(op, dovetail.ones(3))["test_faketensor"]


def test_results_whose_shape_depends_on_data_need_no_fake(make: Callable[..., Any]) -> None:
    op = make("(Tensor x) -> Tensor", lambda x: x.nonzero(), tags=Tag.dynamic_output_shape)
    assert failing(op, dovetail.ones(3)) == {}


@pytest.mark.parametrize(
    ("backward", "words"),
    [
        (lambda ctx, grad: grad.new_ones(5), "returned an invalid gradient at index 0 - got [5]"),
        (None, "no autograd formula was registered"),
    ],
)
def test_a_backward_that_cannot_run_fails(
    backward: Any, words: str, make: Callable[..., Any]
) -> None:
    op = make("(Tensor x) -> Tensor", lambda x: x * 2, like, backward)
    assert words in failing(op, dovetail.ones(3, requires_grad=True))["test_aot_dispatch_dynamic"]


def test_a_declared_write_passes(make: Callable[..., Any]) -> None:
    op = make("(Tensor(a!) x) -> ()", lambda x: [x.sin_()][1:] or None, mutates_args=("x",))
    assert failing(op, dovetail.ones(3)) == {}


def test_the_program_in_the_error_raises_it_again(make: Callable[..., Any]) -> None:
    def kernel(
        x: Tensor, values: list[float], dtype: dovetail.dtype, y: Tensor | None = None
    ) -> Tensor:
        x.add_(1)
        return x.clone()

    op = make("(Tensor x, float[] values, ScalarType dtype, Tensor? y=None) -> Tensor", kernel)
    with pytest.raises(
        OpCheckError, match="test_schema failed with Argument x is not defined as mutable"
    ) as caught:
        opcheck(
            op,
            (
                dovetail.tensor([1.0, dovetail.inf], dtype=dovetail.float64),
                [1.5, -dovetail.inf, dovetail.nan],
                dovetail.int64,
                dovetail.tensor([complex(dovetail.nan, -dovetail.inf), 1j]),
            ),
        )
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert f"defined at {__file__}" in str(caught.value)
    program = textwrap.dedent(str(caught.value).partition("To see it again:")[2])
    with pytest.raises(OpCheckError, match="Argument x is not defined as mutable"):
        exec(program, {})


def test_only_the_checks_asked_for_are_made(make: Callable[..., Any]) -> None:
    op = make("(Tensor x) -> Tensor", lambda x: x * 2)
    assert opcheck(op, (dovetail.ones(3),), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_an_unknown_check_is_refused(make: Callable[..., Any]) -> None:
    op = make("(Tensor x) -> Tensor", lambda x: x * 2)
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        opcheck(op, (dovetail.ones(3),), test_utils="test_foo")


@pytest.mark.parametrize(
    ("op", "words"), [("ck::f", "op must be instance of OpOverload"), (None, "has the overloads")]
)
def test_what_is_no_overload_is_refused(op: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        opcheck(dovetail.ops.aten.add if op is None else op, (dovetail.ones(3),))


# -- shapes that depend on data --------------------------------------------------------------------


def new_size(**limits: int) -> int:
    context = dovetail.library.get_ctx()
    assert context is not None
    return context.new_dynamic_size(**limits)


@pytest.mark.parametrize(
    ("fake", "words"),
    [
        (lambda x: x.new_empty((new_size(), 3)), None),
        (lambda x: x.new_empty((new_size(min=1, max=4), 3)), None),
        (lambda x: x.new_empty((new_size(min=2, max=2), 3)), None),
        (lambda x: x.new_empty((new_size(),)), "Their ranks are 2 and 1"),
        (lambda x: x.new_empty((new_size(), 4)), "are not equal"),
        (lambda x: x.new_empty((new_size(), 3), dtype=dovetail.int64), "Dtypes"),
        (lambda x: x.new_empty((new_size(min=5), 3)), "is not between min=5 and max=None"),
        (lambda x: x.new_empty((new_size(max=1), 3)), "is not between min=0 and max=1"),
        pytest.param(
            lambda x: dovetail.empty((2, 3)),
            "is a fake, and returned a tensor on device cpu",
            marks=pytest.mark.cpu_only(reason="the message names the cpu"),
        ),
    ],
)
def test_a_shape_that_depends_on_data_is_compared_as_far_as_it_is_known(
    fake: Any, words: str | None, make: Callable[..., Any]
) -> None:
    op = make("(Tensor x) -> Tensor", lambda x: x[x[:, 0] != 0].clone(), fake)
    x = dovetail.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [4.0, 1.0, 1.0]])
    if words is None:
        assert opcheck(op, (x,), test_utils="test_faketensor") == {"test_faketensor": "SUCCESS"}
        return
    with pytest.raises(OpCheckError, match=words):
        opcheck(op, (x,), test_utils="test_faketensor")


@pytest.mark.cpu_only(reason="the message names the cpu")
def test_a_meta_kernel_that_returns_data_is_found(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.clone(), own_key())
    lib.impl("f", lambda x: dovetail.empty(x.shape), "Meta")
    with pytest.raises(OpCheckError, match="Devices meta and cpu are not equal"):
        opcheck(dovetail.ops.ckl.f, (dovetail.ones(2),), test_utils="test_faketensor")
