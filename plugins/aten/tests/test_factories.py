"""Functions that make tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail_aten as at
from dovetail_aten.tensor.creation import factories, like_factories
from dovetail_autograd.graph.grad_mode import enable_grad, inference_mode
from dovetail_dispatcher.table import registry
from dovetail_kernel import (
    Device,
    complex64,
    float32,
    float64,
    get_default_device,
    int64,
    plugin_manager,
    set_default_dtype,
    sparse_coo,
    state,
)
from dovetail_kernel import bool as bool_

plugin_manager.load_transform("autograd")


@pytest.fixture
def double() -> Iterator[None]:
    set_default_dtype(float64)
    yield
    set_default_dtype(float32)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, int64),
        (1.5, float32),
        (True, bool_),
        (1j, complex64),
        ([1, 2.0], float32),
        ([True, 2], int64),
        ([], float32),
    ],
)
def test_python_numbers_tell_the_dtype(data: Any, dtype: Any) -> None:
    assert at.tensor(data).dtype is dtype


def test_floats_get_the_default_dtype(double: None) -> None:
    assert at.tensor([1.5]).dtype is float64
    assert at.zeros(2).dtype is float64
    assert at.arange(2.0).dtype is float64


def test_arrays_keep_their_dtype_and_are_copied() -> None:
    array = np.ones(2)
    made = at.tensor(array)
    array[0] = 5
    assert made.dtype is float64
    assert made.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        ([[1, 2], [3]], ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
        ([[1, 2], 3], TypeError, "not a sequence"),
        ("a", TypeError, "invalid data type 'str'"),
        (None, RuntimeError, "Could not infer dtype of NoneType"),
        (2**63, ValueError, "Overflow when unpacking long long"),
        (np.ones(2)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_"),
    ],
)
def test_data_that_is_no_tensor_is_refused(data: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        at.tensor(data)


def test_a_number_must_fit_its_dtype() -> None:
    from dovetail_kernel import int8

    with pytest.raises(
        RuntimeError, match="value cannot be converted to type int8 without overflow"
    ):
        at.tensor(300, dtype=int8)


@pytest.mark.cpu_only(reason="a NumPy array is in host memory")
def test_from_numpy_and_as_tensor_share_memory() -> None:
    array = np.zeros(2)
    shared, also = at.from_numpy(array), at.as_tensor(array)
    array[0] = 5
    assert shared.tolist() == also.tolist() == [5, 0]


def test_as_tensor_keeps_a_tensor() -> None:
    x = at.ones(2)
    assert at.as_tensor(x) is x


def test_asarray_copies_only_as_told() -> None:
    array = np.zeros(2)
    copied = at.asarray(array, copy=True)
    array[0] = 1
    assert copied.tolist() == [0, 0]
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        at.asarray([1, 2], copy=False)


@pytest.mark.parametrize("sizes", [(2, 3), ((2, 3),), ([2, 3],)])
def test_sizes_are_numbers_or_a_sequence(sizes: tuple[Any, ...]) -> None:
    assert at.zeros(*sizes).shape == at.rand(*sizes).shape == at.empty(*sizes).shape == (2, 3)


@pytest.mark.parametrize(
    ("sizes", "kind", "words"),
    [
        ((), TypeError, 'missing 1 required positional arguments: "size"'),
        ((2.0,), TypeError, r"argument 'size' \(position 1\) must be tuple of ints, not float"),
        ((-1,), RuntimeError, "Trying to create tensor with negative dimension -1"),
    ],
)
def test_a_wrong_size_is_refused(sizes: tuple[Any, ...], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        at.zeros(*sizes)


def test_a_wrong_dtype_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"zeros\(\): argument 'dtype' must be dovetail.dtype, not str"
    ):
        at.zeros(2, dtype="a")


def test_only_strided_tensors_are_made() -> None:
    with pytest.raises(NotImplementedError, match="layout"):
        at.zeros(2, layout=sparse_coo)


def stand_in(argument: Any) -> Any:
    """Return something that an argument without default takes."""
    stand_ins = {
        "Tensor": at.ones(2),
        "ScalarType": float32,
        "Device": "cpu",
        "Generator?": None,
        "float": 0.5,
    }
    kind = argument.real_type.schema_str
    if argument.name == "physical_layout":
        return [0]
    return [2] if kind.endswith("[]") else stand_ins.get(kind, 3)


@pytest.mark.parametrize(
    "op",
    [
        pytest.param(op, id=str(op.handle))
        for overloads in list(registry.operators.values())
        for op in overloads.values()
        if op.is_defined
        and op.namespace == "aten"
        and any(argument.name == "layout" for argument in op.schema.arguments)
    ],
)
def test_no_operator_passes_a_sparse_layout_over(op: Any) -> None:
    arguments = [each for each in op.schema.arguments if not each.has_default_value()]
    args = [stand_in(each) for each in arguments if not each.kwarg_only]
    kwargs = {each.name: stand_in(each) for each in arguments if each.kwarg_only}
    with pytest.raises(NotImplementedError, match=r"layout dovetail\.sparse_coo is not supported"):
        op.handle(*args, **{**kwargs, "layout": sparse_coo})


def test_requires_grad_is_set() -> None:
    assert at.ones(2, requires_grad=True).requires_grad
    with pytest.raises(
        RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"
    ):
        at.ones(2, dtype=int64, requires_grad=True)


def test_the_default_device_is_honoured() -> None:
    with Device("meta"):
        assert at.zeros(2).is_meta
        assert at.tensor([1, 2]).is_meta
        assert at.arange(3).shape == (3,)
    assert at.zeros(2).device.type == get_default_device().type


def test_operators_choose_the_backend_by_device() -> None:
    from dovetail_dispatcher import ops

    assert ops.aten.zeros([2], device=Device("meta")).is_meta
    assert ops.aten.zeros_like(at.ones(2), device=Device("meta")).is_meta


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [((3,), [0, 1, 2]), ((1, 3), [1, 2]), ((0, 1, 0.5), [0, 0.5]), ((2, 0, -1), [2, 1])],
)
def test_arange_counts(arguments: tuple[Any, ...], expected: list[float]) -> None:
    assert at.arange(*arguments).tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 5, 0), "step must be nonzero"),
        ((1, 0), "inconsistent with step sign"),
        ((0, float("inf")), "unsupported range"),
    ],
)
def test_a_range_that_never_ends_is_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        at.arange(*arguments)


def test_full_takes_the_dtype_of_its_value() -> None:
    assert at.full((2,), 3).dtype is int64
    assert at.full((2,), True).tolist() == [True, True]


def test_eye_may_be_oblong() -> None:
    assert at.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_out_receives_the_result_and_its_shape() -> None:
    out = at.empty(0)
    assert at.ones(2, out=out) is out
    assert out.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        at.ones(2, out=out, dtype=int64)


def test_the_seed_decides_the_numbers() -> None:
    at.manual_seed(7)
    first = at.rand(3).tolist()
    at.manual_seed(7)
    assert at.rand(3).tolist() == first
    assert at.rand(3).tolist() != first
    assert at.initial_seed() == 7


@pytest.mark.cpu_only(reason="a generator is one of the cpu")
def test_a_generator_is_independent_of_the_default_one() -> None:
    generator = at.Generator().manual_seed(7)
    first = at.randn(3, generator=generator).tolist()
    at.rand(3)
    assert at.randn(3, generator=generator.manual_seed(7)).tolist() == first
    assert at.randint(5, (4,), generator=generator).dtype is int64
    assert sorted(at.randperm(4, generator=generator).tolist()) == [0, 1, 2, 3]


def test_seed_chooses_another_seed() -> None:
    assert at.seed() == at.initial_seed()
    assert at.Generator().seed() != at.Generator().seed()


def test_a_seed_has_64_bits() -> None:
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        at.manual_seed(1 << 64)
    assert at.manual_seed(-1).initial_seed() == (1 << 64) - 1


@pytest.mark.cpu_only(reason="which device is the default is looked up on others")
def test_factories_remember_their_routes_in_inference_mode_too() -> None:
    like = at.ones(2)
    with inference_mode():
        first = at.zeros(2), at.zeros_like(like)
        assert state() in factories._zeros._known
        assert like._signature | state() in like_factories._zeros_like._known
        second = at.zeros(2), at.zeros_like(like)
        with enable_grad():
            third = at.zeros(2), at.zeros_like(like)
        with inference_mode(False):
            outside = at.zeros(2), at.zeros_like(like)
    assert all(each.is_inference() for each in (*first, *second, *third))
    assert not any(each.is_inference() for each in (*outside, at.zeros(2), at.zeros_like(like)))
