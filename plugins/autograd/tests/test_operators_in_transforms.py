"""Operators in forward mode and under `vmap`: every form of forward formula and batching rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_library import real, tensor

import dovetail_autograd as autograd
from dovetail_autograd import gradcheck
from dovetail_autograd.forward_ad import dual_level, make_dual, unpack_dual
from dovetail_autograd.transforms import grad, jvp, vmap
from dovetail_dispatcher import ops

aten: Any = ops.aten
if not hasattr(ops.aten, "mm"):
    pytest.skip("the small library has no such operators", allow_module_level=True)

RANDOM = np.random.default_rng(0)
A, B, C = (RANDOM.standard_normal((3, 3)) for _ in range(3))


def index(*values: int) -> Any:
    return tensor(values, dtype=np.int64)


def written(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function that writes to a copy of its first argument."""

    def function(x: Any, y: Any) -> Any:
        copied = aten.mul.Tensor(x, real(1.5))
        returned = write(copied, y)
        assert returned is copied
        return copied

    return function


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda x, y: aten.neg(aten.transpose.int(x, 0, 1)),
    "elementwise": lambda x, y: aten.sin(aten.relu(x)),
    "two inputs": aten.atan2,
    "a number as other": lambda x, y: aten.mul.Tensor(x, 2.5),
    "a number as self": lambda x, y: aten.sub.Tensor(aten.rsub.Scalar(y, 3.0), x),
    "keywords": lambda x, y: aten.add.Tensor(x, y, alpha=3),
    "matrices": aten.mm,
    "three matrices": lambda x, y: aten.addmm(x, y, x, beta=2, alpha=3),
    "a list": lambda x, y: aten.cat([x, y, x], 1),
    "a list, half of it constant": lambda x, y: aten.stack([real(A), y], 1),
    "several results": lambda x, y: aten.mul.Tensor(aten.max.dim(x, 1)[0], aten.cummax(y, 1)[0]),
    "views in a list": lambda x, y: aten.mul.Tensor(*aten.split.Tensor(x, 2, 1)[0].unbind(1)),
    "no forward formula": lambda x, y: aten.glu(aten.cat([x, y], 1)),
    "broadcast": lambda x, y: aten.mul.Tensor(aten.select.int(x, 0, 1), y),
    "a cast": lambda x, y: aten.mul.Tensor(x, tensor(B)),
    "a condition": lambda x, y: aten.where.self(tensor(A > 0, dtype=bool), x, y),
    "indices": lambda x, y: aten.index.Tensor(x, [index(0, 2, 2), None]),
    "a composite": aten.linear,
    "in place, linear": written(aten.add_.Tensor),
    "in place, elementwise": written(lambda x, y: aten.sin_(x)),
    "in place, product": written(aten.mul_.Tensor),
    "in place, with a number": written(lambda x, y: aten.mul_.Tensor(x, 3.0)),
    "in place, no forward formula": written(aten.atan2_),
    "in place, filled": written(
        lambda x, y: (aten.fill_.Tensor(aten.select.int(x, 0, 0), aten.sum(y)), x)[1]
    ),
    "in place, a copy": written(aten.copy_),
    "in place, zeros": written(lambda x, y: (aten.zero_(aten.select.int(x, 1, 0)), x)[1]),
    "in place, indices": written(
        lambda x, y: aten.index_put_(x, [index(0, 2)], aten.narrow(y, 0, 0, 2), True)
    ),
    "in place, three": written(lambda x, y: aten.addcmul_(x, y, y, value=2)),
    "in place, a view of itself": written(
        lambda x, y: (aten.add_.Tensor(aten.select.int(x, 0, 0), aten.select.int(y, 0, 2)), x)[1]
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_and_gradients_are_those_of_differences(name: str) -> None:
    x, y = real(A, True), real(B + 3, True)
    assert gradcheck(
        FUNCTIONS[name],
        (x, y),
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
        fast_mode=True,
    )


BATCHED = [
    (name, dims)
    for name in FUNCTIONS
    for dims in ((0, 0), (1, None), (None, 2))
    if dims[0] is not None or not name.startswith("in place")  # which writes to the first
]


@pytest.mark.parametrize(("name", "dims"), BATCHED)
def test_a_batch_gives_what_its_samples_give(name: str, dims: Any) -> None:
    function = FUNCTIONS[name]
    rows = [np.stack([A, B, C, A + B]), np.stack([B, C, A, C - B]) + 3]
    given = [
        real(each[0] if dim is None else np.moveaxis(each, 0, dim))
        for each, dim in zip(rows, dims, strict=True)
    ]
    found = vmap(function, in_dims=dims)(*given)
    for i in range(4):
        sample = [real(each[0 if dim is None else i]) for each, dim in zip(rows, dims, strict=True)]
        expected = function(*sample)
        np.testing.assert_allclose(found.array[i], expected.array, rtol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_transforms_nest_around_operators(name: str) -> None:
    """The gradient of a directional derivative, for each sample of a batch."""
    function = FUNCTIONS[name]
    direction = real(C)

    def slope(x: Any, y: Any) -> Any:
        def push(x: Any) -> Any:
            return aten.sum(jvp(lambda x: function(x, y), (x,), (direction,))[1])

        return grad(push)(x)

    rows = np.stack([A, B])
    batch = vmap(slope, in_dims=(0, None))(real(rows), real(B + 3))
    for i in range(2):
        np.testing.assert_allclose(
            batch.array[i], slope(real(rows[i]), real(B + 3)).array, rtol=1e-9, atol=1e-12
        )


def written_part(z: Any) -> Any:
    copied = aten.mul.Tensor(z, tensor(1j, dtype=np.complex128))
    aten.mul_.Tensor(aten.select.int(aten.view_as_real(copied), 1, 0), aten.abs(z))
    return copied


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "elementwise": aten.sin,
    "exponential": aten.exp,
    "conjugate": aten.conj,
    "real part": aten.real,
    "magnitude": aten.abs,
    "product": lambda z: aten.mul.Tensor(z, z),
    "product with its conjugate": lambda z: aten.mul.Tensor(z, aten.conj(z)),
    "in place": lambda z: aten.sin_(aten.mul.Tensor(z, tensor(1j, dtype=np.complex128))),
    "parts": aten.view_as_real,
    "pairs": lambda z: aten.view_as_complex(aten.mul.Tensor(aten.view_as_real(z), 2.0)),
    "a written part": written_part,
}


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex_tangents_and_gradients_are_those_of_differences(
    name: str, fast_mode: bool
) -> None:
    z = tensor([0.3 + 0.5j, -0.7 - 0.2j], True, np.complex128)
    assert gradcheck(COMPLEX[name], z, check_forward_ad=True, fast_mode=fast_mode)


# -- what is no derivative -------------------------------------------------------------------------


def test_results_without_derivative_have_no_tangent() -> None:
    with dual_level():
        x = make_dual(real(A), real(B))
        values, positions = aten.max.dim(x, 1)
        assert unpack_dual(values).tangent is not None
        assert unpack_dual(positions).tangent is None
        assert unpack_dual(aten.gt.Tensor(x, real(0.0))).tangent is None
        assert unpack_dual(aten.to.dtype(x, index(1).dtype)).tangent is None
        assert unpack_dual(aten.zeros_like(x)).tangent is None
        filled = aten.full_like(x, 3.0)
        assert unpack_dual(filled).tangent is None


def test_out_is_refused_with_tangents_and_batches() -> None:
    out = real(np.zeros((3, 3)))
    with dual_level():
        x = make_dual(real(A), real(B))
        with pytest.raises(NotImplementedError, match="it is an out= function"):
            aten.add.out(x, real(B), out=out)
    with pytest.raises(RuntimeError, match="the fallback path doesn't work on out="):
        vmap(lambda x: aten.add.out(x, x, out=out))(real(A))
    np.testing.assert_array_equal(out.array, 0)


def test_a_write_in_no_grad_mode_keeps_the_tangent_in_its_place() -> None:
    with dual_level():
        x = make_dual(real(A, True), real(B, True))
        y = aten.mul.Tensor(x, real(2.0))
        with autograd.no_grad():
            aten.mul_.Tensor(y, real(3.0))
        primal, tangent = unpack_dual(y)
        np.testing.assert_allclose(primal.array, 6 * A)
        np.testing.assert_allclose(tangent.array, 6 * B)
        assert tangent.requires_grad


@pytest.mark.parametrize("depth", [1, 2])
def test_detach_in_place_drops_tangents(depth: int) -> None:
    with dual_level():
        x = make_dual(real(A), real(B))
        y = aten.mul.Tensor(x, x)
        if depth == 1:
            y.detach_()
        else:
            y = aten.detach(y)
        tangent = unpack_dual(y).tangent
        assert tangent is None or not tangent.array.any()


# -- wrapped tensors as others see them ------------------------------------------------------------


def test_a_sample_is_a_tensor_of_its_own_form() -> None:
    seen = []

    def function(x: Any) -> Any:
        y = aten.transpose.int(x, 0, 1)
        array = y.array
        seen.append(
            (
                array.ndim,
                array.shape,
                array.size,
                array.itemsize,
                array.nbytes,
                array.strides,
                array.element_strides,
                y.data_ptr() == x.data_ptr(),
            )
        )
        return y

    vmap(function)(real(np.zeros((5, 2, 3))))
    assert seen == [(2, (3, 2), 6, 8, 48, (8, 24), (1, 3), True)]


def test_a_tensor_of_a_transform_copies_and_clones() -> None:
    def function(x: Any) -> Any:
        copied = x.array.copy()
        assert type(copied) is type(x.array)
        assert copied.physical is not x.array.physical
        return x

    vmap(function)(real(A))
    with dual_level():
        x = make_dual(real(A), real(B))
        copied = x.array.copy()
        np.testing.assert_array_equal(copied.tangent.array, B)
        assert copied.tangent is not x.array.tangent
        np.testing.assert_array_equal(x._backend.arrays.to_host(x.array), A)
        np.testing.assert_array_equal(x.array.view(), A)
        with pytest.raises(TypeError, match="a list cannot be made an array of a function transf"):
            x._backend.arrays.asarray([1.0])
        assert x._backend.arrays.asarray(x.array) is x.array


def test_texts_inside_of_transforms_name_the_level() -> None:
    texts: list[str] = []

    def note(x: Any) -> Any:
        texts.append(repr(x))
        return aten.sum(aten.mul.Tensor(x, x))

    grad(note)(real([1.0, 2.0]))
    vmap(note)(real([[1.0, 2.0]]))
    jvp(note, (real([1.0, 2.0]),), (real([1.0, 1.0]),))
    grad(lambda x: aten.sum(vmap(note)(x)))(real([[1.0, 2.0]]))
    plain, batch, dual, nested = texts
    assert plain.startswith("GradTrackingTensor(lvl=1, value=\n    tensor([1., 2.]")
    assert batch.startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 2.]]")
    assert dual.startswith("GradTrackingTensor(lvl=1, value=\n    tensor([1., 2.]")
    assert nested.startswith("BatchedTensor(lvl=2, bdim=0, value=\n    GradTrackingTensor(lvl=1,")
