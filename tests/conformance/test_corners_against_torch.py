"""Corners in which the two libraries once differed: the same program gives the same result, or the
same error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch==2.13.0")

import dovetail  # noqa: E402


def gradient_of_atan2_at_the_origin(lib: Any) -> Any:
    x = lib.zeros(2, requires_grad=True)
    lib.atan2(x, lib.zeros(2)).sum().backward()
    return x.grad


def masked_write_of_another_dtype(lib: Any) -> Any:
    a = lib.arange(4.0).reshape(2, 2)
    a[lib.tensor([[True, False], [False, True]])] = lib.tensor(5, dtype=lib.int64)
    return a


def nan_into_max(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.max().backward(lib.tensor(float("nan")))
    return x.grad


def write_to_a_view(lib: Any, name: str) -> Any:
    x = lib.ones(3, requires_grad=True)
    y = x * 4
    getattr(y[1:], name)()
    (grad,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
    (grad * grad).sum().backward()
    return x.grad


def leaf_told_not_to_require_grad(lib: Any) -> Any:
    x, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
    total = (x * y).sum()
    x.requires_grad_(False)
    total.backward()
    return y.grad if x.grad is None else x.grad


def saved_and_detached(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    z = y.log()
    y.detach_()
    (grad,) = lib.autograd.grad(z.sum(), x, create_graph=True)
    return grad


def shares_an_array(lib: Any, make: Any) -> Any:
    array = np.ones(2, dtype=np.float32)
    make(array)[0] = 5
    return lib.from_numpy(array)


def inference_tensor(lib: Any) -> Any:
    with lib.inference_mode():
        return lib.ones(3)


def view_in_inference_mode(lib: Any) -> Any:
    x = lib.ones(3, requires_grad=True)
    with lib.inference_mode():
        view = x[1:]
    return lib.tensor(
        [view.is_inference(), view.requires_grad, view._is_view(), x.data.is_inference()]
    )


def view_of_an_inference_tensor(lib: Any) -> Any:
    view = inference_tensor(lib)[1:]
    return lib.tensor([view.is_inference(), view._is_view()])


def same(lib: Any, *, mode: str) -> Any:
    class Same(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    x = lib.ones(2, requires_grad=True)
    with getattr(lib, mode)():
        result = Same.apply(x)
    return lib.tensor(
        [result.requires_grad, result._is_view(), result.is_inference(), result.is_leaf]
    )


def kept_gradient_of_a_view(lib: Any) -> Any:
    base = lib.ones(4, requires_grad=True) * 1
    view = base.view(2, 2)
    view.retain_grad()
    view.mul_(3)
    (base * base).sum().backward()
    return view.grad


def gradient_of_a_written_transposed_tensor(lib: Any) -> Any:
    x = lib.arange(9, dtype=lib.float64).reshape(3, 3).t().detach().requires_grad_()
    y = x + 1
    y.t()[0].mul_(-1)
    (grad,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
    ((grad * grad).sum() + (y * y).sum()).backward()
    return x.grad.detach()


def no_gradient_for_several_results(lib: Any) -> Any:
    class Nothing(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None

    x = lib.ones(2, 3, requires_grad=True)
    values, _ = x.min(1)
    (Nothing.apply(values).sum() + x.sum()).backward()
    return x.grad


def power_of_a_negative_number(lib: Any) -> Any:
    exponent = lib.tensor([2.0 - 1.5j], requires_grad=True)
    (lib.tensor([-1.0]) ** exponent).abs().sum().backward()
    return lib.view_as_real(exponent.grad)


def complex_gradient(lib: Any, name: str) -> Any:
    x = lib.tensor([0.3 - 1.2j, -0.7 + 0.4j, 1.5 + 0.2j], requires_grad=True)
    getattr(x, name)().abs().sum().backward()
    return lib.view_as_real(x.grad)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "the gradient of atan2 is 0 at the origin": gradient_of_atan2_at_the_origin,
    "a masked write casts a 0-dim value": masked_write_of_another_dtype,
    "a 0-dim bound does not promote": lambda lib: lib.clamp(
        lib.ones(3), lib.tensor(2.0, dtype=lib.float64)
    ),
    "bounds that do not broadcast are refused": lambda lib: lib.clamp(
        lib.ones(3), lib.tensor([0.0, 2.0]), None
    ),
    "einsum takes its operands one by one": lambda lib: lib.einsum(
        "ij,jk->ik", lib.ones(2, 3), lib.ones(3, 2)
    ),
    "norm has defaults": lambda lib: lib.norm(lib.ones(2, 3), dim=1),
    "view takes sizes one by one": lambda lib: lib.arange(6).view(2, 3),
    "an in-place sum keeps its shape": lambda lib: lib.ones(3).sub_(lib.ones(1, 3), alpha=2),
    # gradients
    "a NaN that comes into max reaches the greatest alone": nan_into_max,
    "exp_ of a view is differentiated twice": lambda lib: write_to_a_view(lib, "exp_"),
    "sqrt_ of a view is differentiated twice": lambda lib: write_to_a_view(lib, "sqrt_"),
    "a leaf told not to require grad gathers none": leaf_told_not_to_require_grad,
    "a view keeps its gradient after a write": kept_gradient_of_a_view,
    "a write to a transposed tensor is "
    "differentiated twice": gradient_of_a_written_transposed_tensor,
    "no gradient for several results": no_gradient_for_several_results,
    "a negative number to a complex power": power_of_a_negative_number,
    "a saved tensor must not have been detached": saved_and_detached,
    "acosh of complex numbers has its own branch": lambda lib: complex_gradient(lib, "acosh"),
    "a result of floor_divide requires grad": lambda lib: lib.tensor(
        lib.floor_divide(lib.ones(2, requires_grad=True), 2).requires_grad
    ),
    "a comparison written in place may require grad": lambda lib: lib.tensor(
        lib.ones(2).lt_(lib.ones(2, requires_grad=True)).requires_grad
    ),
    "copying into integers requires no grad": lambda lib: lib.tensor(
        lib.zeros(2, dtype=lib.int64).copy_(lib.ones(2, requires_grad=True)).requires_grad
    ),
    # inference mode
    "a view in inference mode is as normal as its source": view_in_inference_mode,
    "a view of an inference tensor is one": view_of_an_inference_tensor,
    "an inference tensor is not saved": lambda lib: (
        lib.ones(3, requires_grad=True) * inference_tensor(lib)
    ),
    "an inference tensor is no out=": lambda lib: lib.add(
        lib.ones(3), 1, out=inference_tensor(lib)
    ),
    "an input returned in no_grad mode": lambda lib: same(lib, mode="no_grad"),
    "an input returned in inference mode": lambda lib: same(lib, mode="inference_mode"),
    # dtypes that are refused
    "a number minus a bool": lambda lib: lib.ones(2) - True,
    "a bool alpha": lambda lib: lib.add(lib.ones(2), lib.tensor([1, 2]), alpha=False),
    "a bool alpha of one": lambda lib: lib.add(lib.ones(2), lib.ones(2), alpha=True),
    "a bool alpha of one, subtracted in place": lambda lib: lib.ones(2).sub_(
        lib.ones(2), alpha=True
    ),
    "a bool alpha of one beside a number": lambda lib: lib.add(lib.ones(2), 1, alpha=True),
    "a bool alpha of one, cached as a float": lambda lib: (
        lib.ones(2).add_(lib.ones(2), alpha=1.0).add_(lib.ones(2), alpha=True)
    ),
    "a bool alpha of bools and floats": lambda lib: lib.rsub(
        lib.tensor([1.0]), lib.tensor([1.0]), alpha=True
    ),
    "a bool alpha of bools": lambda lib: lib.add(
        lib.tensor([True, False]), lib.tensor([True, True]), alpha=False
    ),
    "a fractional alpha of integers": lambda lib: lib.add(lib.arange(2), lib.arange(2), alpha=0.5),
    "an alpha of bools": lambda lib: lib.add(
        lib.tensor([True, False]), lib.tensor([True, True]), alpha=2
    ),
    "abs of bools": lambda lib: lib.tensor([True]).abs(),
    "floor of bools": lambda lib: lib.tensor([True]).floor(),
    "floor of no bools": lambda lib: lib.zeros(0, dtype=lib.bool).floor(),
    "argmax of bools": lambda lib: lib.tensor([True]).argmax(),
    "topk of bools": lambda lib: lib.tensor([True]).topk(1)[0],
    "maximum of complex numbers": lambda lib: lib.maximum(
        lib.ones(2, dtype=lib.complex64), lib.ones(2)
    ),
    "complex numbers have no order": lambda lib: lib.ones(2, dtype=lib.complex64) < 1,
    "in-place abs of complex numbers": lambda lib: lib.ones(2, dtype=lib.complex64).abs_(),
    "the complement of floats": lambda lib: ~lib.ones(2),
    "lerp between dtypes": lambda lib: lib.lerp(lib.ones(2), lib.ones(2, dtype=lib.float64), 0.5),
    "lerp between integers": lambda lib: lib.lerp(lib.arange(2), lib.arange(2), 0.5),
    "scatter of another dtype, even of nothing": lambda lib: lib.zeros(2).scatter(
        0, lib.zeros(0, dtype=lib.int64), lib.zeros(0, dtype=lib.int64)
    ),
    "a sum of integers written in place": lambda lib: lib.arange(3).cumsum_(0, dtype=lib.float32),
    "where chooses by bools": lambda lib: lib.where(lib.ones(2), lib.ones(2), 0),
    "the mean of integers": lambda lib: lib.arange(3).mean(),
    # arguments that nobody knows how to differentiate by
    "a weight of a binary loss that requires grad": lambda lib: (
        lib.nn.functional.binary_cross_entropy_with_logits(
            lib.ones(2), lib.ones(2), lib.ones(2, requires_grad=True)
        )
    ),
    "a weight of positives that requires grad": lambda lib: (
        lib.nn.functional.binary_cross_entropy_with_logits(
            lib.ones(2), lib.ones(2), pos_weight=lib.ones(2, requires_grad=True)
        )
    ),
    "weights of classes that require grad": lambda lib: lib.nn.functional.cross_entropy(
        lib.ones(2, 2), lib.tensor([0, 1]), lib.ones(2, requires_grad=True)
    ),
    "a binary loss of integers": lambda lib: lib.nn.functional.binary_cross_entropy_with_logits(
        lib.tensor([1, 0]), lib.tensor([1, 0])
    ),
    "the gradient of a squared loss by its incoming gradient": lambda lib: lib.autograd.grad(
        lib.ops.aten.mse_loss_backward(
            w := lib.ones(2, 3, requires_grad=True), lib.ones(2, 3), lib.zeros(3), 1
        ).sum(),
        w,
    )[0],
    "the shape of prelu's gradients follows the incoming one": lambda lib: (
        lib.ops.aten._prelu_kernel_backward(lib.ones(2, 3), lib.ones(3), lib.ones(3))[1]
    ),
    # constructors of old
    "Tensor of a list": lambda lib: lib.Tensor([[1, 2], [3, 4.5]]),
    "Tensor of a tuple": lambda lib: lib.Tensor((2, 3)),
    "Tensor of nothing": lambda lib: lib.Tensor(),
    "Tensor of sizes": lambda lib: lib.zeros_like(lib.Tensor(2, 3)),
    "Tensor of a Size": lambda lib: lib.zeros_like(lib.Tensor(lib.Size([2, 3]))),
    "Tensor of a NumPy integer": lambda lib: lib.zeros_like(lib.Tensor(np.int64(3))),
    "Tensor of a named size": lambda lib: lib.zeros_like(lib.Tensor(size=(2, 3))),
    "Tensor of an array": lambda lib: lib.Tensor(np.array([1, 2])),
    "Tensor of an array shares its memory": lambda lib: shares_an_array(lib, lib.Tensor),
    "Tensor of a tensor": lambda lib: lib.Tensor(lib.tensor([1, 2])),
    "Tensor of a tensor in a graph": lambda lib: lib.autograd.grad(
        (lib.Tensor(x := lib.ones(2, requires_grad=True)) * 3).sum(), x
    )[0],
    "Tensor of a float": lambda lib: lib.Tensor(2.0),
    "Tensor of a bool": lambda lib: lib.Tensor(True),
    "Tensor of a string": lambda lib: lib.Tensor("12"),
    "Tensor of None": lambda lib: lib.Tensor(None),
    "Tensor of a complex number": lambda lib: lib.Tensor([1j]),
    "Tensor of a size and something else": lambda lib: lib.Tensor(2, [3]),
    "Tensor of a dtype": lambda lib: lib.Tensor([1], dtype=lib.int64),
    "Tensor of less than nothing": lambda lib: lib.Tensor(-1),
    "Tensor on the cpu": lambda lib: lib.Tensor([1], device="cpu"),
    "Tensor on another device": lambda lib: lib.Tensor([1], device="meta"),
    "Tensor of a tensor on a device": lambda lib: lib.Tensor(lib.ones(1), device="cpu"),
    "LongTensor of a fraction": lambda lib: lib.LongTensor([1.5]),
    "LongTensor of floats": lambda lib: lib.LongTensor(lib.ones(2)),
    "BoolTensor of numbers": lambda lib: lib.BoolTensor([0, 2]),
    "HalfTensor of numbers": lambda lib: lib.HalfTensor([0, 2]),
    "a FloatTensor is known by its dtype": lambda lib: lib.tensor(
        [
            isinstance(x, lib.FloatTensor)
            for x in (lib.ones(1), lib.arange(1), lib.ones(1, device="meta"), 1.0)
        ]
    ),
    "the type FloatTensor": lambda lib: lib.ones(2, dtype=lib.int64).type(lib.FloatTensor),
    "a subclass of nothing but a name": lambda lib: type("Mine", (lib.Tensor,), {})([1, 2]),
    # results
    "an imaginary number is true": lambda lib: lib.tensor([1j, 0, -1, 2 - 1j]).to(lib.bool),
    "an imaginary number is true when it is copied": lambda lib: lib.zeros(2, dtype=lib.bool).copy_(
        lib.tensor([1j, 0])
    ),
    "logaddexp of complex numbers at infinity": lambda lib: lib.view_as_real(
        lib.logaddexp(
            lib.tensor(
                [
                    1 + 2j,
                    complex("-inf"),
                    complex("inf+1j"),
                    complex("-inf+1j"),
                    complex("nan"),
                    1000 + 3j,
                ]
            ),
            lib.tensor([1 + 1j, complex("-inf+2j"), complex("inf+2j"), 2 - 7j, 1 + 1j, 999 - 3j]),
        )
    ),
    "the angle of integers is a float": lambda lib: lib.angle(lib.tensor([1, -2])),
    "division of integers without rounding": lambda lib: lib.tensor([1, 2]).div(
        2, rounding_mode=None
    ),
    "where as a method": lambda lib: lib.arange(3.0).where(lib.tensor([True, False, True]), 0.5),
    "where of a number without dimensions": lambda lib: lib.where(lib.tensor(True))[0],
    "full of no dimensions": lambda lib: lib.full((), 2),
    "bools that are close": lambda lib: lib.isclose(
        lib.tensor([True, False]), lib.tensor([False, True]), rtol=1.0, atol=0.0
    ),
    "the variance of nothing": lambda lib: lib.zeros(2, 0).var(1, correction=-1),
    "the deviation of nothing": lambda lib: lib.zeros(0).std(correction=-2.5),
    "bytes that are close": lambda lib: lib.isclose(
        lib.tensor([1, 5], dtype=lib.uint8), lib.tensor([2, 2], dtype=lib.uint8), atol=2.0
    ),
    "inner of nothing": lambda lib: lib.inner(lib.ones(2, 0), lib.ones(3, 0)),
    "linear of nothing": lambda lib: lib.nn.functional.linear(lib.ones(2, 1, 0), lib.ones(3, 0)),
    "an embedding of width zero": lambda lib: lib.nn.functional.embedding(
        lib.tensor([0]), lib.ones(2, 0, requires_grad=True)
    ),
    "a view of clipped fractions": lambda lib: lib.zeros(2, dtype=lib.int32).masked_fill(
        lib.tensor([True, False]), 2.7
    ),
    # numbers that a dtype cannot hold
    "300 in a byte": lambda lib: lib.zeros(2, dtype=lib.uint8).fill_(300),
    "a fraction below zero in a byte": lambda lib: lib.zeros(2, dtype=lib.uint8).masked_fill(
        lib.tensor([True, False]), -0.5
    ),
    "infinity among integers": lambda lib: lib.zeros(2, dtype=lib.int64).scatter(
        0, lib.tensor([0]), float("inf")
    ),
    # shapes that are refused
    "reductions over nothing: max": lambda lib: lib.zeros(0).max(),
    "reductions over nothing: argmax": lambda lib: lib.zeros(0).argmax(),
    "reductions over nothing: amax": lambda lib: lib.zeros(2, 0).amax(1),
    "reductions over nothing: mean": lambda lib: lib.zeros(0).mean(),
    "reductions over nothing: prod": lambda lib: lib.zeros(0).prod(),
    "mv of a matrix": lambda lib: lib.ones(2, 2).mv(lib.ones(2, 2)),
    "index_add out of nothing": lambda lib: lib.ones(2, 1).index_add(1, lib.tensor(0), lib.ones(1)),
    "index_select by a matrix": lambda lib: lib.ones(2).index_select(
        0, lib.zeros(1, 1, dtype=lib.bool)
    ),
    "index_select of a number": lambda lib: lib.tensor(1.0).index_select(
        0, lib.zeros(0, dtype=lib.int64)
    ),
    "split of a number": lambda lib: lib.tensor(1.0).split([1]),
    "cat of nothing": lambda lib: lib.cat([]),
    "cat of nothing into something": lambda lib: lib.cat([], out=lib.ones(1)),
    "stack of nothing": lambda lib: lib.stack([]),
    "concat of nothing": lambda lib: lib.concat(()),
    "einsum of nothing": lambda lib: lib.einsum("ij"),
    "hstack of nothing": lambda lib: lib.hstack([]),
    "vstack of nothing": lambda lib: lib.vstack([]),
    "roll of a number": lambda lib: lib.tensor(1.0).roll(1, 0),
    "cat of numbers": lambda lib: lib.cat([lib.tensor(1.0), lib.tensor(1.0)]),
    "scatter of fewer dimensions": lambda lib: lib.zeros(2, 2).scatter(
        0, lib.zeros(1, 2, dtype=lib.int64), lib.tensor(1.0)
    ),
    "arange by less than one": lambda lib: lib.arange(0, 3, 1j),
    "linspace of integers between complex bounds": lambda lib: lib.linspace(
        3, 1 + 1j, 2, dtype=lib.int64
    ),
    "linspace of floats between complex bounds": lambda lib: lib.linspace(
        3, 1 + 1j, 2, dtype=lib.float32
    ),
    "arange of bytes in fractional steps": lambda lib: lib.arange(-1, 3, 1.5, dtype=lib.int8),
    "arange of bytes by less than one": lambda lib: lib.arange(0, 3, 0.5, dtype=lib.int8),
    "arange of long integers in fractional steps": lambda lib: lib.arange(
        0, 3, 1.5, dtype=lib.int64
    ),
    "arange of long integers by less than one": lambda lib: lib.arange(0, 3, 0.5, dtype=lib.int64),
    "arange of integers on the meta device": lambda lib: lib.tensor(
        [
            len(lib.arange(0, 2.5, dtype=each, device="meta"))
            for each in (lib.int32, lib.int64, lib.float32)
        ]
    ),
    "arange of bools": lambda lib: lib.arange(3, dtype=lib.bool),
    # promotion
    "an integer tensor and a float number": lambda lib: lib.arange(2) < 0.5,
    "a number without dimensions does not widen": lambda lib: (
        lib.ones(2) + lib.tensor(1.0, dtype=lib.float64)
    ),
    "a number of a higher kind does": lambda lib: lib.arange(2) + lib.tensor(0.5),
    "a comparison with a number without dimensions": lambda lib: (
        lib.tensor([0.1]) == lib.tensor(0.1, dtype=lib.float64)
    ),
}


def outcome(program: Callable[[Any], Any], lib: Any) -> Any:
    try:
        result = program(lib)
    except Exception as error:
        return type(error).__name__
    if result is None:
        return None
    return str(result.dtype).partition(".")[2], result.tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_corner(name: str) -> None:
    ours, theirs = outcome(PROGRAMS[name], dovetail), outcome(PROGRAMS[name], torch)
    if isinstance(theirs, tuple) and isinstance(ours, tuple):
        assert ours[0] == theirs[0]
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-6)
    else:
        assert ours == theirs
