"""The generic array kernels do what any array namespace can: no ``out=``, no item assignment, no
in-place operator.
"""

from __future__ import annotations

from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail_aten.array_kernels import KernelTable, array_kernel_table

cpu = pytest.importorskip("dovetail_cpu", reason="the capabilities of some backend are needed")


class Immutable(np.ndarray):
    """An array that refuses every way of writing to it."""

    def __setitem__(self, key: Any, value: Any) -> None:
        raise AssertionError("an array kernel assigned to an item")

    def _refuse(self, *args: Any) -> Any:
        raise AssertionError("an array kernel used an in-place operator")

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __ipow__ = __iand__ = (
        __ior__
    ) = __ixor__ = _refuse


class Strict:
    """NumPy without ``out=``, that notes what it was asked for."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.used.add(name)
        found = getattr(np, name)
        if isinstance(found, type | np.dtype) or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            # The position of `out` in a ufunc is the first after its inputs.
            assert kwargs.get("out") is None, f"an array kernel called {name} with out="
            assert not isinstance(found, np.ufunc) or len(args) <= found.nin, (
                f"{name} was given out by position"
            )
            result = found(*args, **kwargs)
            return result.view(Immutable) if type(result) is np.ndarray else result

        return call


class Capabilities:
    """The cpu's, on arrays that may be written while they are made."""

    def __init__(self) -> None:
        self._cpu = cpu.CpuArrays()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cpu, name)
        if not callable(found):
            return found

        def plain(value: Any) -> Any:
            if isinstance(value, tuple | list):
                return type(value)([plain(each) for each in value])
            return value.view(np.ndarray) if isinstance(value, np.ndarray) else value

        def call(*args: Any, **kwargs: Any) -> Any:
            result = found(*map(plain, args), **kwargs)
            return result.view(Immutable) if isinstance(result, np.ndarray) else result

        return call


def array(*values: Any, dtype: str = "float32") -> Immutable:
    made = np.array(values, dtype).view(Immutable)
    made.flags.writeable = False
    return made


X, Y = array([1, 2, 3], [4, 5, 6]), array([2, 2, 2], [3, 3, 3])
SQUARE, MASK, PLACES = (
    array([1, 2], [3, 4]),
    array([True, False, True], dtype="bool"),
    array(0, 1, dtype="int64"),
)
TARGET = array(0, 2, dtype="int64")
POINTS = array([[0, 1, 1], [1, 0, 1]], dtype="int64")[0]
CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        (
            "exp",
            "sigmoid",
            "rsqrt",
            "sign",
            "sgn",
            "round",
            "frac",
            "nan_to_num",
            "angle",
            "erf",
            "neg",
        ),
        (X,),
    ),
    **dict.fromkeys(
        (
            "add.Tensor",
            "rsub.Tensor",
            "xlogy.Tensor",
            "pow.Tensor_Tensor",
            "floor_divide",
            "fmod.Tensor",
        ),
        (X, Y),
    ),
    **dict.fromkeys(("remainder.Tensor", "maximum", "eq.Tensor", "logical_and"), (X, Y)),
    **dict.fromkeys(
        ("add.Scalar", "mul.Scalar", "pow.Tensor_Scalar", "eq.Scalar", "clamp_min"), (X, 2.5)
    ),
    **dict.fromkeys(("addcmul", "addcdiv", "lerp.Tensor"), (X, Y, Y)),
    **dict.fromkeys(
        ("sum", "mean", "prod", "max", "min", "argmax", "any", "all", "count_nonzero", "nonzero"),
        (X,),
    ),
    **dict.fromkeys(
        ("sum.dim_IntList", "mean.dim", "amax", "logsumexp", "var.correction", "std.correction"),
        (X, (1,)),
    ),
    **dict.fromkeys(
        ("max.dim", "argmin", "any.dim", "prod.dim_int", "cumsum", "cumprod", "sort"), (X, 1)
    ),
    **dict.fromkeys(("mm", "addmm"), (SQUARE, SQUARE)),
    **dict.fromkeys(
        (
            "relu",
            "silu",
            "gelu",
            "elu",
            "leaky_relu",
            "hardtanh",
            "softplus",
            "log_sigmoid_forward",
        ),
        (X,),
    ),
    **dict.fromkeys(
        ("sigmoid_backward", "tanh_backward", "silu_backward", "gelu_backward"), (X, Y)
    ),
    **dict.fromkeys(("_softmax", "_log_softmax"), (X, 1, False)),
    **dict.fromkeys(("_softmax_backward_data", "_log_softmax_backward_data"), (X, Y, 1, X.dtype)),
    **dict.fromkeys(("mse_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits"), (X, Y)),
    **dict.fromkeys(
        ("clone", "tril", "triu", "diag_embed", "zeros_like", "rand_like", "bernoulli_.float"), (X,)
    ),
    **dict.fromkeys(("cat", "stack"), ([X, Y], 1)),
    "addmm": (SQUARE, SQUARE, SQUARE),
    "clamp": (X, 1, 2),
    "where.self": (MASK, X, Y),
    "masked_fill.Scalar": (X, MASK, 0),
    "linalg_vector_norm": (X, 3),
    "topk": (X, 2),
    "view": (X, (3, 2)),
    "expand": (X, (2, 2, 3)),
    "select_backward": (X, (2, 4, 3), 1, 2),
    "slice_backward": (X, (2, 6), 1, 0, 6, 2),
    "diagonal_backward": (array(1, 2), (2, 3), 0, 0, 1),
    "flip": (X, (0,)),
    "roll": (X, (1,), (1,)),
    "repeat": (X, (2, 2)),
    "constant_pad_nd": (X, (1, 1), 2),
    "index.Tensor": (X, [None, PLACES]),
    "index_put": (X, [PLACES], Y, True),
    "index_select": (X, 1, PLACES),
    "index_add": (X, 0, PLACES, Y),
    "gather": (X, 1, POINTS),
    "scatter.src": (X, 1, POINTS, Y),
    "scatter_add": (X, 1, POINTS, Y),
    "take": (X, PLACES),
    "embedding": (X, PLACES),
    "embedding_dense_backward": (X, PLACES, 4, -1, True),
    "arange.start_step": (0, 5, 2),
    "linspace": (0, 1, 5),
    "eye": (3,),
    "randn": ((2,),),
    "uniform_": (X, 1, 2),
    "multinomial": (Y, 2),
    "native_dropout": (X, 0.5, True),
    "nll_loss_forward": (X, TARGET, None, 1, -100),
    "nll_loss_backward": (array(1)[0], X, TARGET, None, 1, -100, array(2)[0]),
    "native_layer_norm": (X, (3,), None, None, 1e-5),
    "native_layer_norm_backward": (X, X, (3,), Y[:, :1], Y[:, :1], None, None, (True, False, True)),
}


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    """The declarations of the base library."""
    yaml = pytest.importorskip("yaml", reason="the declarations are in YAML")
    families = files("dovetail_aten").joinpath("declarations").iterdir()
    paths = [family.joinpath("native_functions.yaml") for family in families]
    return [entry for path in paths if path.is_file() for entry in yaml.safe_load(path.read_text())]


@pytest.fixture(scope="module")
def namespace() -> Strict:
    return Strict()


@pytest.fixture(scope="module")
def table(namespace: Strict) -> KernelTable:
    return array_kernel_table(namespace, Capabilities())


@pytest.fixture(autouse=True)
def drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers without a backend that has to be loaded."""
    source = SimpleNamespace(native=np.random.default_rng(0))
    monkeypatch.setattr(
        "dovetail_aten.backend.namespace_arrays.default_generator", lambda backend: source
    )


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_kernel_writes_to_nothing(name, table):
    table.kernels[name].fn(*CALLS[name])


def test_every_kernel_name_is_an_operator_of_the_base_library(table, entries):
    operators = {entry["func"].partition("(")[0] for entry in entries}
    assert not sorted(set(table.kernels) - operators)


def test_every_operator_without_a_composite_has_a_kernel(table, entries):
    needed = {entry["func"].partition("(")[0] for entry in entries if "composite" not in entry}
    assert not sorted(needed - set(table.kernels))


def test_no_kernel_stands_before_an_implicit_composite(table, entries):
    implicit = {
        e["func"].partition("(")[0]
        for e in entries
        if e.get("composite", "").startswith("implicit")
    }
    assert not sorted(set(table.kernels) & implicit)


def test_registering_hands_every_kernel_to_the_library():
    from dovetail_aten.array_kernels import register_array_kernels

    registered = {}

    class Library:
        def array_impl(self, name, fn, *, plain=None, into=None, into_any=None):
            registered[name] = (fn, plain, into)

    table = array_kernel_table(np, cpu.CpuArrays())
    register_array_kernels(Library(), table)
    assert registered["add.Tensor"][1:] == (np.add, np.add)
    assert registered["exp"][0] is np.exp
    assert {"sum_to", "conj", "real", "reshape", "contiguous", "matmul", "div"} <= set(
        table.helpers
    )


def test_what_is_defined_later_takes_the_place_of_the_generic_kernel():
    def define(xp, kernel, capabilities):
        kernel("exp", abs)

    table = array_kernel_table(np, cpu.CpuArrays(), [define])
    assert table.kernels["exp"].fn is abs
