"""Ufuncs of tensors that require grad or belong to a transform are operators; for others, and
beside the numbers and arrays on the left of Python's operators, they give what PyTorch gives.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = pytest.mark.cpu_only(reason="NumPy computes with the memory of the CPU")

WIDE = np.array([[2.6, 1.6, 3.3], [1.2, 4.1, 2.3]])
UNIT = np.array([[0.5, -0.25, 0.75], [0.1, 0.3, -0.6]])
OTHER = np.array([1.75, 2.25, 1.5])
ONE: dict[str, np.ndarray] = {
    **dict.fromkeys(
        [
            "absolute",
            "ceil",
            "conjugate",
            "cos",
            "cosh",
            "deg2rad",
            "degrees",
            "exp",
            "exp2",
            "expm1",
            "fabs",
            "floor",
            "isfinite",
            "isinf",
            "isnan",
            "log",
            "log10",
            "log1p",
            "log2",
            "logical_not",
            "negative",
            "positive",
            "rad2deg",
            "radians",
            "reciprocal",
            "rint",
            "sign",
            "signbit",
            "sin",
            "sinh",
            "sqrt",
            "square",
            "tan",
            "tanh",
            "trunc",
            "arcsinh",
            "arctan",
            "arccosh",
        ],
        WIDE,
    ),
    **dict.fromkeys(["arccos", "arcsin", "arctanh"], UNIT),
}
TWO = [
    "add",
    "arctan2",
    "copysign",
    "divide",
    "equal",
    "float_power",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "greater_equal",
    "hypot",
    "less",
    "less_equal",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "not_equal",
    "power",
    "remainder",
    "subtract",
    "vecdot",
]
SPECIAL: dict[str, np.ndarray] = {
    **dict.fromkeys(
        [
            "digamma",
            "entr",
            "erf",
            "erfc",
            "erfcx",
            "expit",
            "gammaln",
            "i0",
            "i0e",
            "i1",
            "i1e",
            "log_ndtr",
            "ndtr",
            "psi",
        ],
        WIDE,
    ),
    **dict.fromkeys(["erfinv"], UNIT),
    **dict.fromkeys(["logit", "ndtri"], abs(UNIT)),
}
VALUES_ALONE = ["floor_divide", "heaviside", "j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"]
"""Without a derivative, in PyTorch as well."""


def compared(function: Callable[..., Any], *arrays: np.ndarray) -> None:
    """Compare values and dtypes with NumPy's, and the gradients with finite differences."""
    for dtype, rtol in ((np.float64, 1e-9), (np.float32, 1e-4)):
        cast = [each.astype(dtype) for each in arrays]
        made = function(*[dovetail.tensor(each, requires_grad=True) for each in cast])
        expected = function(*cast)
        assert isinstance(made, dovetail.Tensor)
        assert made.detach().numpy().dtype == expected.dtype
        np.testing.assert_allclose(made.detach().numpy(), expected, rtol=rtol)
    tensors = [dovetail.tensor(each, requires_grad=True) for each in arrays]
    if function(*tensors).requires_grad:
        assert dovetail.autograd.gradcheck(function, tensors)


@pytest.mark.parametrize("name", ONE)
def test_ufuncs_of_one_tensor(name: str) -> None:
    compared(getattr(np, name), ONE[name])


@pytest.mark.parametrize("name", TWO)
def test_ufuncs_of_two_operands(name: str) -> None:
    function = getattr(np, name)
    compared(function, WIDE, OTHER)
    compared(lambda x: function(x, OTHER), WIDE)
    compared(lambda x: function(OTHER.tolist(), x), WIDE)
    if name != "vecdot":
        compared(lambda x: function(x, 2), WIDE)
        compared(lambda x: function(x, np.float64(2.5)), WIDE)


@pytest.mark.parametrize("name", SPECIAL)
def test_ufuncs_of_scipy(name: str) -> None:
    compared(getattr(scipy.special, name), SPECIAL[name])


@pytest.mark.parametrize("name", VALUES_ALONE)
def test_ufuncs_without_a_derivative(name: str) -> None:
    function = getattr(np, name, None) or getattr(scipy.special, name)
    operands = [WIDE, OTHER][: function.nin]
    made = function(dovetail.tensor(WIDE, requires_grad=True), *operands[1:])
    np.testing.assert_allclose(made.detach().numpy(), function(*operands))
    with pytest.raises((RuntimeError, NotImplementedError), match=r"derivative|not differentiable"):
        made.sum().backward()


METHODS: dict[str, Callable[[Any], Any]] = {
    "divmod": lambda x: np.divmod(x, OTHER)[1],
    "modf": lambda x: np.modf(x)[0],
    "ldexp": lambda x: np.ldexp(x, np.array([1, 2, 3])),
    "matmul": lambda x: np.matmul(x, WIDE.T),
    "add.reduce": np.add.reduce,
    "add.reduce of all": lambda x: np.add.reduce(x, axis=None),
    "add.reduce of rows": lambda x: np.add.reduce(x, axis=1, keepdims=True),
    "maximum.reduce": np.maximum.reduce,
    "minimum.reduce": lambda x: np.minimum.reduce(x, axis=(0, 1)),
    "add.accumulate": np.add.accumulate,
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "multiply.outer": lambda x: np.multiply.outer(x, OTHER),
    "subtract.outer": lambda x: np.subtract.outer(OTHER, x),
    "hypot.outer": lambda x: np.hypot.outer(x, x),
    "add of float32": lambda x: np.add(x, OTHER.astype(np.float32)),
    "add of integers": lambda x: np.add(np.array([1, 2, 3]), x),
    "add of one element": lambda x: np.add(x, OTHER[:1]),
    "a row backwards": lambda x: np.multiply(x, OTHER[::-1]),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_and_mixtures(name: str) -> None:
    compared(METHODS[name], WIDE)


def test_refused_ufuncs_leave_the_gradient_where_it_is() -> None:
    x = dovetail.ones(3, dtype=dovetail.float64, requires_grad=True)
    same_name = np.frompyfunc(lambda value: 0.0, 1, 1)
    refused: list[Callable[[], Any]] = [
        lambda: np.cbrt(x),
        lambda: np.spacing(x),
        lambda: np.sin(x, out=np.empty(3)),
        lambda: np.sin(x, out=np.empty(3), where=np.array([True, False, True])),
        lambda: np.sin(x, dtype=np.float32),
        lambda: np.add.reduce(x, dtype=np.float32),
        lambda: np.add.reduceat(x, [0, 1]),
        lambda: np.add.at(np.ones(3), [0, 1, 2], x),
        lambda: np.maximum.accumulate(x),
        lambda: same_name(x),
        lambda: scipy.special.gammasgn(x),
        lambda: np.add(x, np.array(["a", "b", "c"])),
        lambda: np.asarray(x),
    ]
    for call in refused:
        with pytest.raises((RuntimeError, TypeError)):
            call()


FIRST = [
    np.ones(3) * 1.1,
    np.array(1.1),
    np.array([1, 2, 3]),
    *[kind(1.1) for kind in (np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8)],
    np.True_,
]
SIGNS = {
    "add": "+",
    "and_": "&",
    "eq": "==",
    "floordiv": "//",
    "ge": ">=",
    "gt": ">",
    "le": "<=",
    "lshift": "<<",
    "lt": "<",
    "mod": "%",
    "mul": "*",
    "ne": "!=",
    "or_": "|",
    "pow": "**",
    "rshift": ">>",
    "sub": "-",
    "truediv": "/",
    "xor": "^",
}


def described(function: Callable[[], Any], library: Any) -> str:
    """Describe a result: whether it is a tensor, its dtype and values; or that it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = function()
        except (TypeError, RuntimeError, ValueError, NotImplementedError):
            return "refused"
    if isinstance(made, bool):
        return "a bool"  # PyTorch's answer to ``array != tensor``
    kind = "tensor" if isinstance(made, library.Tensor) else type(made).__name__
    return f"{kind} {str(made.dtype).rpartition('.')[2]} {rounded(made.tolist())}"


def rounded(value: Any) -> Any:
    """Return numbers to six digits: the last ones of powers depend on the processor."""
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


@pytest.mark.parametrize("name", SIGNS)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("first", FIRST, ids=lambda each: f"{type(each).__name__}{each.ndim}")
def test_functions_of_operators_are_operators(first: Any, name: str, dtype: str) -> None:
    """`operator.mul` and `functools.reduce` give what the operator in a program's text gives."""
    function = getattr(operator, name)
    texts = {}
    for library in (dovetail, torch):
        x = library.tensor([1.1, 3.3, 2.2]).to(getattr(library, dtype))
        texts[library] = described(
            lambda x=x: eval(f"a {SIGNS[name]} x", {"a": first, "x": x}), library
        )
        for call in (
            lambda x=x: function(first, x),
            lambda x=x: functools.reduce(function, [first, x]),
            lambda x=x: next(map(function, [first], [x])),
        ):
            assert described(call, library) == texts[library]
    # PyTorch takes NumPy's booleans for floats beside integers.
    if texts[torch].startswith("tensor") and not isinstance(first, np.bool):
        assert texts[dovetail] == texts[torch]


PLAIN: dict[str, Callable[[Any], Any]] = {
    "multiply": lambda x: np.multiply(x, np.float64(1.1)),
    "power": lambda x: np.power(x, np.array(1.1)),
    "into an array": lambda x: np.add(x, 1, out=np.zeros(3)),
    "of a dtype": lambda x: np.sin(x, dtype=np.float64),
    "reduce": np.multiply.reduce,
    "outer": lambda x: np.add.outer(x, OTHER),
    "at": lambda x: np.add.at(OTHER.copy(), [0, 1, 2], x),
    "of several": np.modf,
    "clip": OTHER.clip,
    "SciPy's": scipy.special.erf,
    "without gradients": lambda x: np.sin(x.float().requires_grad_().detach()),
    "dot": OTHER.dot,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_other_tensors_are_arrays_to_ufuncs(name: str, dtype: str) -> None:
    found = [
        repr(PLAIN[name](library.tensor([1.1, 3.3, 2.2]).to(getattr(library, dtype))))
        for library in (dovetail, torch)
    ]
    assert found[0].replace("dovetail.", "torch.") == found[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_without_recording_tensors_are_arrays() -> None:
    for function in (np.sin, lambda x: np.concatenate([x, x]), np.linalg.norm):
        found = []
        for library in (dovetail, torch):
            x = library.tensor([1.0, 2.0], requires_grad=True)
            with library.no_grad():
                found.append(repr(function(x)))
        assert found[0] == found[1]


def test_functions_with_an_array_first_are_operators() -> None:
    """NumPy asks for ``np.multiply(a, x)`` as for ``a * x``; PyTorch answers the operator alone."""
    for first in (np.float64(2), np.array([1.5, 2.5])):
        for name, function in (("multiply", operator.mul), ("less", operator.lt)):
            x = dovetail.tensor([1.0, 2.0])
            made, expected = getattr(np, name)(first, x), function(first, x)
            assert made.dtype is expected.dtype
            assert made.tolist() == expected.tolist()
    assert np.multiply(np.float64(2), dovetail.ones(2)).dtype is dovetail.float32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's __array_wrap__ has NumPy's old parameters
        assert np.multiply(np.float64(2), torch.ones(2)).dtype is torch.float64


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_ufunc_writes_to_the_array_on_its_left(requires_grad: bool) -> None:
    x = dovetail.tensor([1.0, 2.0], requires_grad=requires_grad)
    array = np.array([3.0, 4.0])
    np.multiply(array, x, out=array)
    assert array.tolist() == [3.0, 8.0]
    result: Any = array
    result *= x
    assert array.tolist() == result.tolist() == [3.0, 16.0]
    assert result.requires_grad is requires_grad
    integers = np.array([3, 4])
    with pytest.raises(TypeError):
        np.multiply(integers, x, out=integers)
    assert integers.tolist() == [3, 4]


def model(x: Any) -> Any:
    """Call functions of NumPy alone."""
    return np.sum(np.tanh(np.multiply(x, OTHER)) + np.where(x > 1, np.sqrt(x), np.exp(-x)))


def written(x: Any) -> Any:
    """Call the operators that `model` comes down to."""
    other = dovetail.from_numpy(OTHER)
    return (dovetail.tanh(x * other) + dovetail.where(x > 1, x.sqrt(), (-x).exp())).sum()


TRANSFORMS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "grad": dovetail.func.grad,
    "grad of grad": lambda f: dovetail.func.grad(lambda x: dovetail.func.grad(f)(x).sum()),
    "hessian": dovetail.func.hessian,
    "jvp": lambda f: lambda x: dovetail.func.jvp(f, (x,), (x,))[1],
    "vjp": lambda f: lambda x: dovetail.func.vjp(f, x)[1](dovetail.ones_like(f(x)))[0],
    "vmap": lambda f: lambda x: dovetail.vmap(f)(dovetail.stack([x, x + 1])),
    "vmap of grad": lambda f: lambda x: dovetail.vmap(dovetail.func.grad(f))(x.expand(2, -1)),
    "functionalize": dovetail.func.functionalize,
    "checkpoint": lambda f: (
        lambda x: dovetail.utils.checkpoint.checkpoint(f, x.requires_grad_(), use_reentrant=False)
    ),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_see_ufuncs_and_functions(transform: str) -> None:
    found, expected = [
        TRANSFORMS[transform](function)(dovetail.tensor([0.5, 1.5, 2.5], dtype=dovetail.float64))
        for function in (model, written)
    ]
    dovetail.testing.assert_close(found, expected)


def test_modes_see_the_operators_behind_ufuncs() -> None:
    class Seen(dovetail.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    names: list[str] = []
    x = dovetail.ones(2, requires_grad=True)
    with Seen():
        np.sin(x)
    assert "sin.default" in names


def test_another_librarys_arrays_are_asked() -> None:
    class Other:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            return ufunc.__name__, [type(each).__name__ for each in inputs]

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return func.__name__

    for requires_grad in (False, True):
        x = dovetail.ones(2, requires_grad=requires_grad)
        assert np.add(x, Other()) == ("add", ["Tensor", "Other"])
        assert np.add(Other(), x) == ("add", ["Other", "Tensor"])
        assert np.concatenate([x, Other()]) == "concatenate"
