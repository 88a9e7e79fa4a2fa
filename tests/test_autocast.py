"""Autocast: which operators compute in another dtype inside the block, and what is left alone."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

import dovetail
from dovetail import Tensor
from dovetail.library import Library, custom_op, register_autocast

pytestmark = pytest.mark.cpu_only(reason="autocast is asked for on the cpu")


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("acl", "DEF")
    yield library
    library._destroy()


@pytest.fixture
def op() -> Iterator[Any]:
    def kernel(x: Tensor, y: Tensor, n: int = 1) -> Tensor:
        return x * n + y

    made = custom_op("ac::f", kernel, mutates_args=())
    yield made
    made._lib._destroy()


@pytest.fixture
def x() -> Tensor:
    return dovetail.ones(2, 2)


def test_products_compute_in_the_lower_dtype_and_the_rest_does_not(x: Tensor) -> None:
    with dovetail.autocast("cpu"):
        assert ((x @ x).dtype, (x + x).dtype) == (dovetail.bfloat16, dovetail.float32)
    assert (x @ x).dtype is dovetail.float32


def test_losses_compute_in_float32(x: Tensor) -> None:
    with dovetail.autocast("cpu"):
        assert dovetail.nn.functional.mse_loss(x @ x, x @ x).dtype is dovetail.float32


def test_lists_of_mixed_dtypes_are_cast_to_the_widest(x: Tensor) -> None:
    with dovetail.autocast("cpu"):
        assert dovetail.cat([x, x @ x]).dtype is dovetail.float32
        assert dovetail.cat([x @ x, x @ x]).dtype is dovetail.bfloat16


def test_float64_and_integers_are_never_cast(x: Tensor) -> None:
    with dovetail.autocast("cpu"):
        assert (x.double() @ x.double()).dtype is dovetail.float64
        assert (x.long() @ x.long()).dtype is dovetail.int64


def test_gradients_have_the_dtype_of_the_leaf(x: Tensor) -> None:
    x.requires_grad_()
    with dovetail.autocast("cpu"):
        y = x @ x
    y.sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (dovetail.float32, [[4, 4], [4, 4]])


def test_blocks_nest_and_end_also_on_an_exception(x: Tensor) -> None:
    with pytest.raises(KeyError), dovetail.autocast("cpu"):
        with dovetail.autocast("cpu", enabled=False):
            assert (x @ x).dtype is dovetail.float32
        with dovetail.amp.autocast("cpu", dtype=dovetail.float16):
            assert (x @ x).dtype is dovetail.float16
        assert (x @ x).dtype is dovetail.bfloat16
        raise KeyError
    assert (x @ x).dtype is dovetail.float32


def test_a_function_can_be_decorated(x: Tensor) -> None:
    @dovetail.autocast("cpu")
    def product(depth: int) -> list[dovetail.dtype]:
        return [(x @ x).dtype, *(product(depth - 1) if depth else [])]

    assert product(2) == [dovetail.bfloat16] * 3
    assert not dovetail.is_autocast_enabled("cpu")


def test_the_state_can_be_asked_for() -> None:
    assert (dovetail.is_autocast_enabled(), dovetail.is_autocast_enabled("cpu")) == (False, False)
    with dovetail.autocast("cpu", dtype=dovetail.float16):
        assert (dovetail.is_autocast_enabled(), dovetail.is_autocast_enabled("cpu")) == (
            False,
            True,
        )
        assert dovetail.get_autocast_dtype("cpu") is dovetail.float16
    assert dovetail.get_autocast_dtype("cpu") is dovetail.bfloat16
    assert dovetail.get_autocast_dtype("cuda") is dovetail.float16


def test_it_can_be_switched_without_a_block(x: Tensor) -> None:
    def switched() -> dovetail.dtype:
        dovetail.set_autocast_enabled("cpu", True)
        dovetail.set_autocast_dtype("cpu", dovetail.float16)
        return (x @ x).dtype

    assert contextvars.copy_context().run(switched) is dovetail.float16
    assert (x @ x).dtype is dovetail.float32


def test_threads_and_tasks_have_their_own(x: Tensor) -> None:
    async def inside() -> tuple[dovetail.dtype, ...]:
        async def other() -> dovetail.dtype:
            with dovetail.autocast("cpu"):
                await asyncio.sleep(0)
                return (x @ x).dtype

        task = asyncio.create_task(other())
        await asyncio.sleep(0)
        own = (x @ x).dtype
        return own, await task

    assert asyncio.run(inside()) == (dovetail.float32, dovetail.bfloat16)
    seen: list[dovetail.dtype] = []
    with dovetail.autocast("cpu"):
        thread = Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [dovetail.float32]


def test_a_dtype_that_is_not_lower_turns_it_off_with_a_warning(x: Tensor) -> None:
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        block = dovetail.autocast("cpu", dtype=dovetail.float32)
    with block:
        assert (x @ x).dtype is dovetail.float32


@pytest.mark.parametrize(
    ("device_type", "words"),
    [("meta", "unsupported autocast device_type 'meta'"), ("cpuu", "Did you mean 'cpu'")],
)
def test_a_device_without_autocast_is_refused(device_type: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        dovetail.autocast(device_type)


# -- operators of libraries ------------------------------------------------------------------------


def test_a_registered_operator_gets_its_tensors_cast(op: Any, x: Tensor) -> None:
    register_autocast("ac::f", "cpu", dovetail.float16)
    with dovetail.autocast("cpu"):
        assert op(x, x, 3).dtype is dovetail.float16
        assert op(x, y=x, n=3).tolist() == [[4, 4], [4, 4]]
        assert op(x.double(), x.double()).dtype is dovetail.float64
    assert op(x, x).dtype is dovetail.float32


def test_registering_again_replaces(op: Any, x: Tensor) -> None:
    op.register_autocast("cpu", dovetail.float16)
    op.register_autocast("cpu", dovetail.bfloat16)
    with dovetail.autocast("cpu"):
        assert op(x, x).dtype is dovetail.bfloat16


def test_an_operator_of_a_library_is_cast_with_its_lists_and_keywords(
    lib: Library, x: Tensor
) -> None:
    lib.define("f(Tensor[] x, *, Tensor? y=None) -> ScalarType[]")
    lib.impl("f", lambda x, y=None: [t.dtype for t in [*x, *([] if y is None else [y])]], "CPU")
    register_autocast(dovetail.ops.acl.f.default, "cpu", dovetail.bfloat16, lib=lib)
    with dovetail.autocast("cpu"):
        cast = dovetail.ops.acl.f([x, x.long()], y=x)
    assert cast == dovetail.ops.acl.f([x.bfloat16(), x.long()], y=x.bfloat16())


def test_gradients_flow_through_the_cast(op: Any, x: Tensor) -> None:
    op.register_autograd(lambda ctx, grad: (grad * 2, grad, None))
    op.register_autocast("cpu", dovetail.bfloat16)
    x.requires_grad_()
    with dovetail.autocast("cpu"):
        op(x, dovetail.ones(2, 2), 2).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (dovetail.float32, [[2, 2], [2, 2]])


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        (
            ("ac::f", "meta", dovetail.float16),
            ValueError,
            "Device type 'meta' does not support autocast",
        ),
        (
            ("ac::f", "cpuu", dovetail.float16),
            RuntimeError,
            "device type at start of device string: cpuu",
        ),
        (
            ("ac::g", "cpu", dovetail.float16),
            AttributeError,
            "operator ac::g does not exist. Did you mean 'ac::f'",
        ),
        ((3, "cpu", dovetail.float16), ValueError, "got unexpected type for op"),
        (("ac::f", "cpu", "float16"), TypeError, "cast_inputs must be a dtype"),
    ],
)
def test_a_wrong_registration_is_refused(
    args: Any, error: type[Exception], words: str, op: Any
) -> None:
    with pytest.raises(error, match=words):
        register_autocast(*args)


@pytest.mark.skipif(dovetail.cuda.is_available(), reason="there is CUDA here")
def test_cuda_where_there_is_none_warns_and_is_off() -> None:
    with pytest.warns(UserWarning, match=r"CUDA is not available .* Disabling autocast") as warned:
        block = dovetail.amp.autocast("cuda")
    assert warned[0].filename == __file__
    with block:
        assert not dovetail.is_autocast_enabled("cuda")
    with dovetail.amp.autocast("cuda", enabled=False):  # nothing to warn of
        assert not dovetail.is_autocast_enabled("cuda")
