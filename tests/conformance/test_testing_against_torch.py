"""`assert_close`, `make_tensor` and the options of `gradcheck` do what PyTorch's do."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch
from devices import cpu_only_where, without_device
from same_programs import tried

import dovetail

NAN, INF = float("nan"), float("inf")


class Rows(dict[str, Any]):
    """Is iterated over by rows, as tables are; its keys are the names of its columns."""

    def __iter__(self) -> Any:
        return iter([0, 1])

    def __len__(self) -> int:
        return 2


PAIRS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "numbers": (1.0, 2.0, {}),
    "integers": (1, 2, {}),
    "booleans": (True, False, {}),
    "numbers of two types": (1, 1.0, {}),
    "numbers of two types, unchecked": (1, 1.0, {"check_dtype": False}),
    "complex numbers": (1 + 1j, 1 + 2j, {}),
    "a number and zero": (1e-3, 0.0, {}),
    "NaN": (NAN, NAN, {}),
    "NaN, equal": (NAN, NAN, {"equal_nan": True}),
    "an infinity": (1.0, INF, {}),
    "no tolerance": (1.0, 2.0001, {"rtol": 0.0, "atol": 0.0}),
    "rtol alone": (1.0, 1.0, {"rtol": 1e-3}),
    "atol alone": (1.0, 1.0, {"atol": 1e-3}),
    "None": (None, None, {}),
    "None and a number": (None, 1.0, {}),
    "text": ("a", "a", {}),
    "sets": ({1}, {1}, {}),
    "a list of texts": (["a"], ["a"], {}),
    "sequences of two types": ([1.0], (2.0,), {}),
    "sequences of two lengths": ([1.0], [1.0, 2.0], {}),
    "sequences inside, of two lengths": ([1.0, [1.0]], [2.0, [1.0, 2.0]], {}),
    "mappings": ({"a": 1.0}, {"a": 2.0}, {}),
    "mappings of other keys": ({"a": 1.0, "c": 2.0}, {"a": 2.0, "b": 1.0}, {}),
    "mappings of rows": (Rows(a=1.0, b=2.0), Rows(a=1.0, b=2.0), {}),
    "other mappings of rows": (Rows(a=1.0, b=2.0), Rows(a=1.0, b=3.0), {}),
    "mappings inside": ([{"a": 1.0}], [{"b": 1.0}], {}),
    "a sequence and a mapping": ([1.0], {0: 1.0}, {}),
    "ranges": (range(3), [0, 1, 2], {}),
    "arrays": (np.array([1.0, 2.0]), np.array([1.0, 3.0]), {}),
    "numbers of NumPy": (np.float32(1), np.float32(2), {}),
    "booleans of NumPy": (np.bool_(True), False, {}),
    "a text of one's own": (1.0, 2.0, {"msg": "mine"}),
    "a function of the text": ([1.0], [2.0], {"msg": lambda text: f"H\n{text}\nF"}),
    "a text of one's own for other lengths": ([1.0], [], {"msg": "mine"}),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_values_compare_as_in_pytorch(pair: str) -> None:
    actual, expected, options = PAIRS[pair]

    def run(library: Any) -> Any:
        return tried(lambda: library.testing.assert_close(actual, expected, **options), words=999)

    assert run(dovetail) == run(torch)


TENSORS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "one element": ([1.0, 2.0, 3.0], [1.0, 2.5, 3.0], {}),
    "zero expected": ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [3.0, 4.5]], {}),
    "no dimensions": (1.0, 2.0, {}),
    "NaN": ([1.0, NAN], [5.0, 1.0], {}),
    "NaN in both": ([1.0, NAN], [1.0, NAN], {}),
    "NaN in both, equal": ([1.0, NAN], [1.0, NAN], {"equal_nan": True}),
    "infinities": ([INF, 1.0], [INF, 2.0], {}),
    "opposite infinities": ([INF], [-INF], {}),
    "integers": ([1, 2, 3], [1, 2, 4], {}),
    "integers with a tolerance": ([10, 20], [11, 30], {"rtol": 0.1, "atol": 0}),
    "large integers": ([2**60], [2**60 + 1], {}),
    "booleans": ([True, False], [True, True], {}),
    "complex": ([1 + 1j], [1 + 2j], {}),
    "shapes": ([1.0, 2.0], [1.0, 2.0, 3.0], {}),
    "dtypes": ([1.0, 2.0], [1, 2], {}),
    "dtypes, unchecked": ([1.0, 2.0], [1, 3], {"check_dtype": False}),
    "no tolerance": ([1.0, 2.0], [1.0, 2.0001], {"rtol": 0, "atol": 0}),
    "an absolute tolerance": ([1.0, 2.0], [1.0, 2.1], {"rtol": 0, "atol": 0.01}),
    "nothing": ([], [], {}),
    "three dimensions": ([[[0.0, 0.0], [0.0, 1.0]]], [[[0.0, 5.0], [0.0, 1.0]]], {}),
}


@pytest.mark.parametrize("pair", TENSORS)
def test_tensors_compare_as_in_pytorch(pair: str) -> None:
    actual, expected, options = TENSORS[pair]

    def run(library: Any) -> Any:
        made = library.tensor(actual), library.tensor(expected)
        text = tried(lambda: library.testing.assert_close(*made, **options), words=999)
        nested = {"a": [made[0]]}, {"a": [made[1]]}
        return text, tried(lambda: library.testing.assert_close(*nested, **options), words=999)

    assert _in_torch_names(run(dovetail)) == _in_torch_names(run(torch))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "uint8", "int8", "complex128"])
def test_differences_are_those_of_the_dtype(dtype: str) -> None:
    def run(library: Any) -> Any:
        left = library.tensor([1, 2, 7]).to(getattr(library, dtype))
        right = library.tensor([3, 2, 9]).to(getattr(library, dtype))
        return tried(lambda: library.testing.assert_close(left, right), words=999)

    assert run(dovetail) == run(torch)


ATTRIBUTES = {
    "device": lambda lib: (lib.ones(2, device="meta"), lib.ones(2, dtype=lib.float64), {}),
    "meta": lambda lib: (lib.ones(2, device="meta"), lib.ones(2, device="meta"), {}),
    "stride": lambda lib: (lib.ones(2, 3), lib.ones(3, 2).t(), {"check_stride": True}),
    "stride, unchecked": lambda lib: (lib.ones(2, 3), lib.ones(3, 2).t(), {}),
    "stride before dtype": lambda lib: (
        lib.ones(2, 3), lib.ones(3, 2, dtype=lib.float64).t(), {"check_stride": True},
    ),
    "a number": lambda lib: (lib.ones(()), 1.0, {}),
    "a list": lambda lib: (lib.ones(1), [1.0], {}),
    "a subclass": lambda lib: (lib.nn.Parameter(lib.ones(2)), lib.ones(2), {}),
    "a subclass, refused": lambda lib: (
        lib.nn.Parameter(lib.ones(2)), lib.ones(2), {"allow_subclasses": False},
    ),
    "None": lambda lib: (lib.tensor([0.1, 1.0]), None, {}),
    "half precisions": lambda lib: (
        lib.tensor([1.0]).half(), lib.tensor([1.1]).double(), {"check_dtype": False},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "case", cpu_only_where(ATTRIBUTES, lambda each: each == "device", "PyTorch is on the cpu")
)
def test_attributes_compare_as_in_pytorch(case: str) -> None:
    def run(library: Any) -> Any:
        actual, expected, options = ATTRIBUTES[case](library)
        return tried(lambda: library.testing.assert_close(actual, expected, **options), words=999)

    ours, theirs = (_in_torch_names(run(lib)).replace('"', "'") for lib in (dovetail, torch))
    assert without_device(ours) == theirs


def _in_torch_names(result: Any) -> Any:
    """Return texts with classes and sizes named as PyTorch names them."""
    return (
        str(result)
        .replace("torch.", "dovetail.")
        .replace("dovetail.nn.parameter.Parameter", "dovetail.nn.Parameter")
    )


def test_a_boolean_differs_from_a_number_of_the_same_value() -> None:
    # PyTorch raises an internal error about itself.
    with pytest.raises(AssertionError, match="types do not match: <class 'bool'> != <class 'int'>"):
        dovetail.testing.assert_close(True, 1)


DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "int64",
    "int8",
    "uint8",
    "bool",
]
MADE: dict[str, dict[str, Any]] = {
    "as usual": {},
    "bounds": {"low": -2.5, "high": 1.5},
    "noncontiguous": {"noncontiguous": True},
    "without zeros": {"low": 0, "high": 2, "exclude_zero": True},
    "more than it holds": {"low": -1e6, "high": 1e6},
    "a lower bound": {"low": 20},
    "an upper bound": {"high": -20},
    "an empty interval": {"low": 3, "high": 1},
    "no number": {"low": NAN, "high": 1},
    "with gradient": {"requires_grad": True},
    "in the order of channels": {"memory_format": "channels_last"},
    "in two orders": {"memory_format": "channels_last", "noncontiguous": True},
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", MADE)
def test_one_seed_makes_the_tensors_of_pytorch(dtype: str, case: str) -> None:
    def run(library: Any) -> Any:
        options = dict(MADE[case])
        if "memory_format" in options:
            options["memory_format"] = getattr(library, options["memory_format"])
        made = getattr(library, dtype)
        library.manual_seed(7)

        def make() -> Any:
            return library.testing.make_tensor(2, 3, 2, 4, dtype=made, device="cpu", **options)

        outcome = tried(make, words=400)
        if isinstance(outcome, tuple):
            return outcome
        library.manual_seed(7)
        tensor = make()
        return outcome, tensor.stride(), tensor.requires_grad, tensor.is_leaf

    assert str(run(dovetail)) == str(run(torch)).replace("torch.", "dovetail.")


@pytest.mark.parametrize(
    "name",
    ["testing.assert_close", "testing.make_tensor", "autograd.gradcheck", "autograd.gradgradcheck"],
)
def test_signatures_are_those_of_pytorch(name: str) -> None:
    def parameters(library: Any) -> Any:
        module, _, function = name.partition(".")
        signature = inspect.signature(getattr(getattr(library, module), function))
        return [(each.name, each.kind, each.default) for each in signature.parameters.values()]

    assert parameters(dovetail) == parameters(torch)


GRADCHECKS: dict[str, dict[str, Any]] = {
    "masked": {"masked": True},
    "unmasked": {"masked": False},
    "fast": {"fast_mode": True, "masked": True},
    "all": {
        "check_batched_grad": True, "check_forward_ad": True, "check_batched_forward_grad": True,
        "check_grad_dtypes": True, "check_undefined_grad": True, "nondet_tol": 1e-5,
    },
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:`torch.jit")  # PyTorch's vmap loads what is deprecated
@pytest.mark.parametrize("options", GRADCHECKS)
def test_gradcheck_takes_all_options(options: str) -> None:
    def run(library: Any) -> Any:
        x = library.linspace(0.1, 0.9, 4, dtype=library.float64, requires_grad=True)
        return library.autograd.gradcheck(library.tanh, x, **GRADCHECKS[options])

    assert run(dovetail) is run(torch) is True


def test_gradgradcheck_begins_with_gradients_that_are_not_contiguous() -> None:
    def run(library: Any) -> list[bool]:
        seen = []

        class Square(library.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                seen.append(grad.is_contiguous())
                return 2 * ctx.saved_tensors[0] * grad

        x = library.linspace(0.1, 0.9, 4, dtype=library.float64).reshape(2, 2).requires_grad_()
        assert library.autograd.gradgradcheck(Square.apply, x, gen_non_contig_grad_outputs=True)
        return [False in seen]

    assert run(dovetail) == run(torch) == [True]


@pytest.mark.parametrize(
    "actual, expected, options",
    [
        (1.0, 1.00002, {}),
        (1.0, 1.001, {}),
        ([1.0, NAN], [1.0, NAN], {}),
        ([1.0, NAN], [1.0, NAN], {"equal_nan": False}),
        ([1, 2], [1.0, 2.0], {}),
        ([1, 2], [1, 3], {"msg": "other"}),
        (np.array([1.0]), np.array([1.000001]), {}),
        (np.array([1.0]), [1.1], {"rtol": 0.5, "atol": 0.0}),
        (np.array([1.0]), [1.1], {"rtol": 0.5}),
        ([[1.0]], [1.0], {}),
    ],
)
def test_assert_allclose_finds_the_differences_of_torch(
    actual: Any, expected: Any, options: dict[str, Any]
) -> None:
    def found(lib: Any) -> Any:
        with pytest.warns(FutureWarning):
            error = tried(lambda: lib.testing.assert_allclose(actual, expected, **options))
            return error and error[0]

    assert found(dovetail) == found(torch)


def test_assert_allclose_takes_tensors_of_different_dtypes() -> None:
    for lib in (dovetail, torch):
        with pytest.warns(FutureWarning):
            lib.testing.assert_allclose(lib.ones(2), lib.ones(2, dtype=lib.float64) + 1e-5)
