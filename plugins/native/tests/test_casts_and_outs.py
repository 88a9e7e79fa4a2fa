"""Compiled kernels of autocast, which cast as the Python kernels do; results that are written to
tensors given as ``out=``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing
from dovetail_dispatcher.table import registry  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="these kernels are the cpu's"),
]


# -- autocast --------------------------------------------------------------------------------------


class Plain(dovetail.Tensor):
    pass


class Lying(dovetail.Tensor):
    __torch_function__ = dovetail._C._disabled_torch_function_impl
    dtype = property(lambda self: dovetail.float64)  # which autocast leaves alone


def operands() -> list[Any]:
    x = dovetail.arange(9.0).reshape(3, 3) / 8
    return [
        x,
        x.double(),
        x.half(),
        x.bfloat16(),
        x.long(),
        x.clone().requires_grad_(),
        x.clone().requires_grad_().t(),
        dovetail.nn.Parameter(x),
        x.as_subclass(Plain),
        x.as_subclass(Lying),
        2.0,
        [x, x],
    ]


def casting_kernel(name: str, overload: str = "") -> Any:
    assert dovetail.autocast is not None  # which registers the kernels
    op = registry.find_or_throw(f"aten::{name}", overload)
    kernel = op.newest(dovetail._C.DispatchKey.AutocastCPU)
    assert type(kernel.fn) is core.Entry
    return kernel.fn


def outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        result = call(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    tensors = result if isinstance(result, tuple | list) else [result]
    return [
        (type(each), each.dtype, each.tolist(), type(each.grad_fn).__name__) for each in tensors
    ]


@pytest.mark.parametrize("dtype", [dovetail.bfloat16, dovetail.float16])
@pytest.mark.parametrize("enabled", [True, False])
def test_kernels_of_autocast_cast_as_their_text_does(dtype: Any, enabled: bool) -> None:
    calls = 0
    for name, overload in (("mm", ""), ("linear", ""), ("matmul", ""), ("cdist", "")):
        kernel = casting_kernel(name, overload)
        for first in range(len(operands())):
            for second in range(len(operands())):
                found = []
                for call in (kernel.text, kernel, kernel):
                    given = operands()
                    args = given[first], operands()[second]
                    with dovetail.autocast("cpu", dtype, enabled=enabled):
                        before = dovetail.is_autocast_enabled("cpu")
                        found.append(outcome(call, *args))
                        assert dovetail.is_autocast_enabled("cpu") is before
                assert found[1] == found[0], (name, first, second)
                assert found[2] == found[0], (name, first, second)
                calls += isinstance(found[0], list)
    assert calls > 100


def test_lists_and_keywords_are_cast() -> None:
    x, y = dovetail.ones(2, 2), dovetail.ones(2, 2).bfloat16()
    bias = dovetail.ones(2)
    with dovetail.autocast("cpu", dovetail.bfloat16):
        linear = casting_kernel("linear")
        for call in (linear, linear.text):
            assert call(x, x, bias=bias).dtype is dovetail.bfloat16
        assert dovetail.cat([x, y]).dtype is dovetail.float32
        assert (
            dovetail.func.vmap(lambda a: a @ x)(dovetail.ones(3, 2, 2)).dtype is dovetail.bfloat16
        )
    with pytest.raises(RuntimeError):
        linear(x, x.double())
    assert not dovetail.is_autocast_enabled("cpu")


# -- out= ------------------------------------------------------------------------------------------


def test_a_result_is_written_into_the_memory_of_out() -> None:
    x = dovetail.arange(6.0).reshape(2, 3)
    out = dovetail.zeros(2, 3)
    address = out.data_ptr()
    for times in range(1, 4):
        assert dovetail.mul(x, 2, out=out) is out
        assert out.tolist() == [[0, 2, 4], [6, 8, 10]]
        assert (out.data_ptr(), out._version) == (address, times)
    assert dovetail.add(x, x, out=dovetail.zeros(3, 2).t()).tolist() == (x * 2).tolist()
    assert dovetail.add(x, x, out=dovetail.zeros(2, 3).double()).dtype is dovetail.float64
    assert dovetail.sum(x, 0, out=dovetail.zeros(3)).tolist() == [3, 5, 7]


def test_what_out_shares_with_operands_is_seen() -> None:
    x = dovetail.arange(4.0)
    assert dovetail.add(x, 1, out=x).tolist() == [1, 2, 3, 4]
    view = x[1:]
    with pytest.raises(RuntimeError, match="single memory location"):
        dovetail.add(x[:-1], 1, out=view)
    y = dovetail.ones(2)
    with pytest.raises(RuntimeError, match="single memory location"):
        dovetail.cat([y], out=y)
    square = dovetail.ones(2, 2)
    assert dovetail.mm(square, square.t(), out=square).tolist() == [[2, 2], [2, 2]]


def test_tensors_of_out_that_do_not_fit_are_resized_cast_or_refused() -> None:
    x = dovetail.ones(3)
    with pytest.warns(UserWarning, match="resized"):
        assert dovetail.add(x, 1, out=dovetail.zeros(2)).tolist() == [2, 2, 2]
    assert dovetail.add(x, 1, out=dovetail.empty(0)).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="can't be cast"):
        dovetail.add(x, 1, out=dovetail.zeros(3, dtype=dovetail.int64))
    with dovetail.inference_mode():
        made_there = dovetail.zeros(3)
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        dovetail.add(x, 1, out=made_there)
    assert made_there.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError):
        dovetail.add(x, 1, out=dovetail.zeros(1).expand(3))
