"""NumPy's arrays and functions beside tensors: more than PyTorch takes, and nothing else for what
it takes.
"""

from __future__ import annotations

import operator as operator_module
import warnings
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = pytest.mark.cpu_only(reason="NumPy computes with the memory of the CPU")

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="]
ARRAYS = {
    "float64": np.array([1.5, 2.0, 3.0]),
    "float32": np.array([1.5, 2.0, 3.0], np.float32),
    "float16": np.array([1.5, 2.0, 3.0], np.float16),
    "int64": np.array([1, 2, 3]),
    "int16": np.array([1, 2, 3], np.int16),
    "int8": np.array([1, 2, 3], np.int8),
    "bool": np.array([True, False, True]),
    "no dimensions": np.array(2.0),
    "integer of no dimensions": np.array(3),
    "bool of no dimensions": np.array(True),
    "two dimensions": np.ones((2, 3)),
}


def outcome(lib: Any, expression: str, **names: Any) -> Any:
    """What an expression gives: its type, dtype and values, or the type of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(expression, {"np": np, "lib": lib, **names})
        except Exception as error:
            return type(error)
    kind = "tensor" if isinstance(result, lib.Tensor) else type(result)
    return kind, str(result.dtype).rpartition(".")[2], np.asarray(result.tolist())


# PyTorch says True of ``x != array``.
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("operator", OPERATORS[:-1])
@pytest.mark.parametrize("array", ARRAYS)
def test_what_works_there_is_the_same(array: str, operator: str, dtype: str) -> None:
    if dtype == "bool" == str(ARRAYS[array].dtype):
        pytest.skip("NumPy's booleans become bytes in PyTorch")
    for expression in (f"x {operator} a", f"a {operator} x"):
        theirs, ours = [
            outcome(
                lib, expression, a=ARRAYS[array], x=lib.tensor([2, 1, 3], dtype=getattr(lib, dtype))
            )
            for lib in (torch, dovetail)
        ]
        if isinstance(theirs, tuple):
            assert ours[:2] == theirs[:2], expression
            np.testing.assert_array_equal(ours[2], theirs[2], expression)


@pytest.mark.parametrize("operator", [*OPERATORS, "@"])
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_gradients_change_neither_dtype_nor_values(array: str, operator: str, dtype: str) -> None:
    """A tensor that requires grad gives what it gives without, and so do the two orders of a sum
    and NumPy.
    """
    a = ARRAYS[array]
    x = dovetail.tensor([2.0, 1.0, 3.0], dtype=getattr(dovetail, dtype))
    for expression in (f"x {operator} a", f"a {operator} x"):
        plain = outcome(dovetail, expression, a=a, x=x)
        recorded = outcome(dovetail, expression, a=a, x=x.clone().requires_grad_())
        if not isinstance(plain, tuple):
            assert isinstance(recorded, type), expression  # both refuse
            continue
        assert recorded[:2] == plain[:2], expression
        np.testing.assert_allclose(recorded[2], plain[2], rtol=1e-6, err_msg=expression)
        if operator == "*" and a.ndim:
            assert plain[1] == str(np.multiply(x.numpy(), a).dtype)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "**", "%", "@"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_gradients_beside_arrays(operator: str, side: str) -> None:
    a = np.array([1.5, 2.0, 3.0])
    expression = f"a {operator} x" if side == "left" else f"x {operator} a"

    def by_array(x: Any) -> Any:
        return eval(expression, {"a": a, "x": x})

    def by_tensor(x: Any) -> Any:
        return eval(expression, {"a": dovetail.from_numpy(a), "x": x})

    grads = []
    for function in (by_array, by_tensor):
        x = dovetail.tensor([2.0, 1.3, 3.0], dtype=dovetail.float64, requires_grad=True)
        function(x).sum().backward()
        grads.append(x.grad)
    dovetail.testing.assert_close(grads[0], grads[1])


@pytest.mark.parametrize("operator", ["&", "|", "^", "<<", ">>", "//", "%", "-", "**", "@"])
def test_integers_on_the_left(operator: str) -> None:
    a = np.array([6, 5, 4])
    x = dovetail.tensor([1, 2, 3], device="cpu")
    made = eval(f"a {operator} x", {"a": a, "x": x})
    expected = np.asarray(eval(f"a {operator} x", {"a": a, "x": x.numpy()}))
    assert made.numpy().dtype == expected.dtype
    np.testing.assert_array_equal(made.numpy(), expected)


def test_samples_of_a_transform_meet_arrays() -> None:
    a = np.array([1.0, 2.0, 3.0])
    x = dovetail.ones(2, 3, dtype=dovetail.float64)
    assert dovetail.vmap(lambda row: a * row)(x).tolist() == [[1.0, 2.0, 3.0]] * 2
    assert dovetail.func.grad(lambda row: (a - row * a).sum())(x[0]).tolist() == [-1.0, -2.0, -3.0]


def test_a_write_to_an_array_makes_a_tensor() -> None:
    factor = dovetail.ones(3, dtype=dovetail.float64, requires_grad=True) * 2
    for write in (operator_module.imul, np.ndarray.__imul__):
        array = np.ones(3)
        made: Any = write(array, factor)
        assert made.requires_grad
        assert made.tolist() == array.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "mod"])
def test_gradients_are_those_of_the_array_before_the_write(name: str, dtype: str) -> None:
    values = np.array([0.2, 0.5, 0.7], dtype)
    x = dovetail.tensor([2.0, 3.0, 0.5], dtype=getattr(dovetail, dtype), requires_grad=True)
    expected = getattr(operator_module, name)(dovetail.tensor(values), x)
    array = values.copy()
    made: Any = getattr(operator_module, f"i{name}")(array, x)
    np.testing.assert_array_equal(array, made.detach().numpy())
    grads = [dovetail.autograd.grad(each.sum(), x)[0] for each in (made, expected)]
    dovetail.testing.assert_close(grads[0], grads[1])


def test_objects_and_other_dtypes_are_no_operands() -> None:
    x = dovetail.ones(2, requires_grad=True)
    for array in (np.array(["a", "b"]), np.array([object(), object()])):
        with pytest.raises((TypeError, RuntimeError)):
            x * array


@pytest.mark.parametrize("second", ["int8", "uint8", "int16", "int64", "bool", "uint32"])
def test_unsigned_integers_promote_as_in_numpy(second: str) -> None:
    one, other = np.array([3, 2], np.uint16), np.array([1, 0]).astype(second)
    with pytest.raises(RuntimeError, match="Promotion"):
        torch.from_numpy(one) * torch.from_numpy(other)
    for a, b in ((one, other), (other, one)):
        x, y = dovetail.from_numpy(a), dovetail.from_numpy(b)
        assert dovetail.result_type(x, y) == getattr(dovetail, np.result_type(a, b).name)
        if (a * b).dtype.kind == "i":  # operators compute in signed integers alone
            np.testing.assert_array_equal((x * y).numpy(), a * b)
        np.testing.assert_array_equal(dovetail.cat([x, y]).numpy(), np.concatenate([a, b]))


def test_the_imaginary_part_of_a_real_tensor_is_zero() -> None:
    with pytest.raises(RuntimeError, match="imag"):
        _ = torch.ones(2).imag
    x = dovetail.tensor([1.0, 2.0], requires_grad=True)
    assert x.imag.tolist() == dovetail.imag(x).tolist() == [0.0, 0.0]
    assert not x.imag.requires_grad
    with pytest.raises(RuntimeError):
        x.imag.add_(1.0)
    assert dovetail.func.grad(lambda x: (x.real * 2 + x.imag).sum())(x).tolist() == [2.0, 2.0]
