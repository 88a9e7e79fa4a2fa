"""The generic array kernels do what any array namespace can: no ``out=``, no item assignment, no
in-place operator, optional arguments by keyword, and where values are not there yet, no look at
them.
"""

from __future__ import annotations

import inspect
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, ClassVar

import kernel_calls
import numpy as np
import pytest
from kernel_calls.from_samples import calls_of_samples
from kernel_calls.operands import array

from dovetail_aten.kernel_support import (
    FAMILIES,
    KernelTable,
    array_kernel_table,
    family_class,
    register_array_kernels,
)
from dovetail_dispatcher import Library
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey

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


class LookedAtError(Exception):
    """A kernel asked a lazy array for a value."""


class Lazy(Immutable):
    """An array whose values cannot be looked at; not even those of one element."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array.view(Lazy)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(plain(self)[plain(key)]).view(Lazy)

    def _look(self, *args: Any) -> Any:
        raise LookedAtError

    __bool__ = __int__ = __float__ = __complex__ = __index__ = item = tolist = _look
    __iter__ = __contains__ = _look


def plain(value: Any) -> Any:
    """NumPy's own arrays in place of the test's."""
    if isinstance(value, tuple | list):
        return type(value)([plain(each) for each in value])
    return value.view(np.ndarray) if isinstance(value, np.ndarray) else value


def wrapped(value: Any, array_type: type) -> Any:
    """The test's arrays in place of NumPy's own, and of its scalars."""
    if isinstance(value, tuple | list):
        return type(value)([wrapped(each, array_type) for each in value])
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).view(array_type)
    return value


class Strict:
    """NumPy without ``out=``, with optional arguments by keyword only."""

    REQUIRED: ClassVar = {
        **{"where": 3, "take": 2, "take_along_axis": 2, "full": 2, "full_like": 2, "eye": 2},
        **{"searchsorted": 2, "isin": 2, "repeat": 2, "reshape": 2},
    }

    def __init__(self, array_type: type) -> None:
        self._array_type = array_type

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type | np.dtype) or not callable(found):
            return found
        required = found.nin if isinstance(found, np.ufunc) else self.REQUIRED.get(name, 1)

        def call(*args: Any, **kwargs: Any) -> Any:
            assert kwargs.get("out") is None, f"an array kernel called {name} with out="
            assert len(args) <= required or name == "broadcast_arrays", (
                f"an array kernel gave {name} an optional argument by position"
            )
            if name in ("reshape", "broadcast_to"):
                assert isinstance(args[1], tuple), f"an array kernel gave {name} no tuple"
            result = found(*map(plain, args), **kwargs)
            return wrapped(result, self._array_type)

        return call


class Capabilities:
    """The cpu's, on arrays that may be written while they are made."""

    checks_bounds = plain_arrays = False
    quick: ClassVar[dict[str, Any]] = {}

    def __init__(self, array_type: type, lazy: bool) -> None:
        self._cpu, self._array_type, self.lazy = cpu.CpuArrays(), array_type, lazy

    def are_below(self, index: Any, size: int) -> bool:
        below = self._cpu.are_below(plain(index), size)
        return bool(wrapped(np.asarray(below), self._array_type))

    def checked(self, array: Any, right: Any, error: Any) -> Any:
        return array

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cpu, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            return wrapped(found(*map(plain, args), **kwargs), self._array_type)

        return call


def same(names: str, *args: Any) -> dict[str, tuple[Any, ...]]:
    return dict.fromkeys(names.split(), args)


X, Y = array([1, 2, 3], [4, 5, 6]), array([2, 2, 2], [3, 3, 3])
SQUARE, BATCH = array([1, 2], [3, 4]), array([[1, 2], [3, 4]])
ONE, VECTOR, PAIRS = array(1)[0:1].reshape(()), array(1, 2), array([1, 2], [3, 4])
MASK = array([True, False, True], dtype="bool")
INTEGERS, DIVISORS = array([1, -2, 3], dtype="int64"), array([2, 2, -2], dtype="int64")
COMPLEX = array([1 + 2j, -np.inf, np.inf], dtype="complex64")
PLACES, TARGET = array(0, 1, dtype="int64"), array(0, 2, dtype="int64")
POINTS = array([[0, 1, 1], [1, 0, 1]], dtype="int64")[0]
IMAGES = np.arange(64.0).reshape(2, 2, 4, 4)
WEIGHT = np.arange(8.0).reshape(2, 1, 2, 2)
CORNERS = IMAGES[:, :, ::2, ::2].copy()
CORNER_PLACES = np.arange(16).reshape(4, 4)[::2, ::2][None, None] * np.ones((2, 2, 1, 1), "int64")
DRAWN = np.arange(12.0).reshape(2, 2, 3) / 12
CONVOLVED = ((1,), (0,), (1,), False, (0,), 2)
CALLS: dict[str, tuple[Any, ...]] = {
    **same("sigmoid rsqrt sign sgn round frac nan_to_num angle erf erfc _conj_physical", X),
    **same("logaddexp", COMPLEX, COMPLEX),
    **same("add.Tensor sub.Tensor rsub.Tensor xlogy.Tensor", X, Y),
    **same("div.Tensor_mode", INTEGERS, DIVISORS),
    **same("div.Scalar_mode", INTEGERS, 2),
    **same("floor_divide fmod.Tensor remainder.Tensor pow.Tensor_Tensor", INTEGERS, DIVISORS),
    **same("add.Scalar sub.Scalar rsub.Scalar mul.Scalar div.Scalar pow.Tensor_Scalar", X, 2.5),
    **same("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", X, 2.5),
    **same("floor_divide.Scalar fmod.Scalar remainder.Scalar", INTEGERS, 2),
    **same("bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar", INTEGERS, 2),
    **same(
        "bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor", 2, INTEGERS
    ),
    **same("pow.Scalar", 2, INTEGERS),
    **same("clamp_min clamp_max fill_.Scalar full_like", X, 2.5),
    **same("clamp_min.Tensor clamp_max.Tensor clamp.Tensor copy_", X, Y),
    **same("addcmul addcdiv lerp.Tensor", X, Y, Y),
    **same("lerp.Scalar", X, Y, 0.3),
    **same("clamp", X, 1, 2),
    **same("where.self", MASK, X, Y),
    **same("masked_fill.Scalar", X, MASK, 0),
    **same("masked_fill.Tensor", X, MASK, ONE),
    **same("sum mean prod max min argmax argmin any all count_nonzero nonzero", X),
    **same("sum.dim_IntList mean.dim amax amin logsumexp var.correction std.correction", X, (1,)),
    **same("max.dim max.dim_max min.dim min.dim_min any.dim all.dim prod.dim_int", X, 1),
    **same("count_nonzero.dim_IntList cumsum cumprod sort", X, 1),
    **same("linalg_vector_norm norm.Scalar norm.ScalarOpt_dim", X, 3),
    **same("topk", X, 2),
    **same("sort.stable nansum aminmax median nanmedian mode nonzero_static", X),
    **same("var_mean.correction std_mean.correction any.dims all.dims", X, (1,)),
    **same("cummax cummin logcumsumexp median.dim nanmedian.dim", X, 1),
    **same("kthvalue", X, 2),
    **same("histc histogram.bin_ct", X, 2),
    **same("histogram.bins_tensor", X, VECTOR),
    **same("_histogramdd_bin_edges _histogramdd_from_bin_cts", X, [2, 3, 1]),
    **same("_histogramdd_from_bin_tensors", PAIRS, [VECTOR, VECTOR]),
    **same("bincount repeat_interleave.Tensor", PLACES),
    **same("_unique2 unique_consecutive", X),
    **same("tril_indices triu_indices", 3, 4, 1),
    **same("unique_dim unique_dim_consecutive", X, 0),
    **same("searchsorted.Tensor isin.Tensor_Tensor", X, Y),
    **same("searchsorted.Scalar", VECTOR, 1.5),
    **same("isin.Tensor_Scalar", X, 2.5),
    **same("isin.Scalar_Tensor", 2.5, X),
    **same("mm", SQUARE, SQUARE),
    **same("addmm", SQUARE, SQUARE, SQUARE),
    **same("bmm", BATCH, BATCH),
    **same("addbmm", SQUARE, BATCH, BATCH),
    **same("baddbmm", BATCH, BATCH, BATCH),
    **same("mv", SQUARE, VECTOR),
    **same("addmv", VECTOR, SQUARE, VECTOR),
    **same("dot vdot", VECTOR, VECTOR),
    **same("alias detach t squeeze unbind.int diagonal zero_ clone _to_copy", X),
    **same("view _unsafe_view", X, (3, 2)),
    **same("expand", X, (2, 2, 3)),
    **same("permute", X, (1, 0)),
    **same("transpose.int select.int", X, 0, 1),
    **same("squeeze.dim unsqueeze split.Tensor", X, 1),
    **same("squeeze.dims", X, (0, 1)),
    **same("slice.Tensor", X, 0, 0, 1),
    **same("split_with_sizes", X, (1, 2), 1),
    **same("as_strided", X, (2, 2), (3, 1)),
    **same("view.dtype", X, np.dtype("int32")),
    **same("view_as_real", COMPLEX),
    **same("view_as_complex", PAIRS),
    **same("select_backward", X, (2, 4, 3), 1, 2),
    **same("slice_backward", X, (2, 6), 1, 0, 6, 2),
    **same("diagonal_backward", VECTOR, (2, 3), 0, 0, 1),
    **same("tril triu diag_embed", X),
    **same("cat stack", [X, Y], 1),
    **same("flip", X, (0,)),
    **same("roll", X, (1,), (1,)),
    **same("repeat", X, (2, 2)),
    **same("constant_pad_nd", X, (1, 1), 2),
    **same("fill_.Tensor", X, ONE),
    **same("index.Tensor", X, [None, PLACES]),
    **same("index_put", X, [PLACES], Y, True),
    **same("masked_select", X, X > 2),
    **same("take", X, PLACES),
    **same("index_select", X, 1, PLACES),
    **same("index_add", X, 0, PLACES, Y),
    **same("embedding", X, PLACES),
    **same("embedding_dense_backward", X, PLACES, 4, 1, True),
    **same("gather", X, 1, POINTS),
    **same("scatter.src scatter_add", X, 1, POINTS, Y),
    **same("scatter.value", X, 1, POINTS, 2),
    **same("zeros ones empty.memory_format rand randn", (2, 3)),
    **same("full", (2, 3), 1.5),
    **same("empty_strided", (2, 3), (1, 2)),
    **same("empty_like zeros_like ones_like rand_like randn_like", X),
    **same("new_zeros new_ones new_empty", X, (2,)),
    **same("new_full", X, (2,), 1.5),
    **same("scalar_tensor arange randperm eye", 3),
    **same("arange.start", 1, 3),
    **same("arange.start_step", 0, 5, 2),
    **same("linspace", 0, 1, 5),
    **same("randint", 5, (2,)),
    **same("randint.low", 1, 5, (2,)),
    **same("uniform_ normal_", X, 1, 2),
    **same("bernoulli", MASK.astype("float32")),
    **same("bernoulli_.float", X),
    **same("multinomial", Y, 2),
    **same("native_dropout", X, 0.5, True),
    **same("cauchy_ exponential_ log_normal_ random_ poisson normal.Tensor_float", X),
    **same("geometric_ bernoulli.p", X, 0.5),
    **same("random_.to", X, 5),
    **same("random_.from", X, 2, 5),
    **same("bernoulli_.Tensor", X, MASK.astype("float32")),
    **same("normal.Tensor_Tensor", X, Y),
    **same("binomial", X, MASK.astype("float32")),
    **same("normal.float_Tensor", 0.0, X),
    **same("normal.float_float", 0.0, 1.0, (2, 3)),
    **same("native_dropout_backward", X, MASK, 2.0),
    **same("relu silu gelu elu leaky_relu hardtanh softplus log_sigmoid_forward", X),
    **same("threshold", X, 2, 0),
    **same("threshold_backward", X, Y, 0),
    **same("hardtanh_backward", X, Y, -1, 1),
    **same("leaky_relu_backward", X, Y, 0.1, False),
    **same("elu_backward", X, 1, 1, 1, False, Y),
    **same("_prelu_kernel", X, Y),
    **same("_prelu_kernel_backward", X, Y, Y),
    **same("sigmoid_backward tanh_backward silu_backward gelu_backward", X, Y),
    **same("softplus_backward", X, Y, 2, 20),
    **same("log_sigmoid_backward", X, Y, Y),
    **same("_softmax _log_softmax", X, 1, False),
    **same("_softmax_backward_data _log_softmax_backward_data", X, Y, 1, X.dtype),
    **kernel_calls.CALLS,
    **same("convolution", IMAGES, WEIGHT, WEIGHT[:, 0, 0, 0], *CONVOLVED),
    **same(
        "convolution_backward",
        *[IMAGES[:, :, :3, :3], IMAGES, WEIGHT, None, *CONVOLVED, (True,) * 3],
    ),
    **same("im2col", IMAGES, (2, 2), (1, 1), (0, 1), (1, 2)),
    **same("col2im", IMAGES[:, 0], (3, 3), (2, 2), (1, 1), (0, 0), (1, 1)),
    **same("max_pool2d_with_indices", IMAGES, (3, 2), (2, 1), (1, 1), (1, 2), True),
    **same("max_pool3d_with_indices", IMAGES, (1, 2, 2)),
    **same("avg_pool2d", IMAGES, (3, 2), (2, 1), (1, 1), True, False),
    **same("avg_pool3d", IMAGES, (1, 3, 2), (1, 2, 1), (0, 1, 1), True, True, None),
    **same("_adaptive_avg_pool2d adaptive_max_pool2d", IMAGES, (3, 2)),
    **same("_adaptive_avg_pool3d adaptive_max_pool3d", IMAGES, (1, 3, 2)),
    **same("fractional_max_pool2d", IMAGES, (2, 1), (2, 3), DRAWN[..., :2]),
    **same("fractional_max_pool3d", IMAGES[None], (1, 2, 1), (1, 2, 3), DRAWN[:1]),
    **same("max_unpool2d", CORNERS, CORNER_PLACES, (4, 4)),
    **same("max_unpool3d", CORNERS, CORNER_PLACES, (1, 4, 4), (1, 1, 1), (0, 0, 0)),
    **same(
        "max_pool2d_with_indices_backward",
        *[CORNERS, IMAGES, (2, 2), (2, 2), (0, 0), (1, 1), False, CORNER_PLACES],
    ),
    **same(
        "max_pool3d_with_indices_backward",
        *[CORNERS, IMAGES, (1, 2, 2), (1, 2, 2), (0,) * 3, (1,) * 3, False, CORNER_PLACES],
    ),
    **same(
        "adaptive_max_pool2d_backward adaptive_max_pool3d_backward", CORNERS, IMAGES, CORNER_PLACES
    ),
    **same("fractional_max_pool2d_backward", CORNERS, IMAGES, (2, 2), (2, 2), CORNER_PLACES),
    **same("fractional_max_pool3d_backward", CORNERS, IMAGES, (1, 2, 2), (2, 2, 2), CORNER_PLACES),
    **same("avg_pool2d_backward", CORNERS, IMAGES, (2, 2), (2, 2), (0, 0), False, True, None),
    **same(
        "avg_pool3d_backward",
        *[CORNERS, IMAGES, (1, 2, 2), (1, 2, 2), (0, 0, 0), False, True, None],
    ),
    **same("_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward", CORNERS, IMAGES),
    **same("pixel_shuffle", IMAGES.reshape(1, 4, 4, 4), 2),
    **same("pixel_unshuffle channel_shuffle", IMAGES, 2),
}
KEYWORDS = {
    "div.Tensor_mode": {"rounding_mode": "trunc"},
    "div.Scalar_mode": {"rounding_mode": "floor"},
    **kernel_calls.KEYWORDS,
    "nonzero_static": {"size": 8},
    "sort.stable": {"stable": True},
}
RETURN_VALUES = {**same("equal", X, X), "_local_scalar_dense": (ONE,)}
"""Operators whose result is a Python value: they have to look."""


def is_method(kernel: Any) -> bool:
    """Return whether a kernel is a method, or makes results of one in another memory format."""
    return any([hasattr(each, "__self__") for each in (kernel, getattr(kernel, "__wrapped__", 0))])


_OTHERS = [
    name
    for name, kernel in array_kernel_table(np, cpu.CpuArrays()).kernels.items()
    if is_method(kernel.fn) and name not in {*CALLS, *RETURN_VALUES, "erf", "erfc"}
]
for _table, _found in zip(
    (CALLS, KEYWORDS), calls_of_samples(_OTHERS, cpu.CpuArrays().native_dtypes), strict=True
):
    _table |= _found
NEED_VALUES = ("_ctc_loss",)
"""Operators that have to look: lengths decide how far they go."""
LOOKING = (
    *("take", "index_select", "index_add", "embedding", "index.Tensor", "gather", "scatter.src"),
    *("floor_divide", "remainder.Tensor", "fmod.Scalar", "pow.Tensor_Tensor", "logaddexp"),
    *("bernoulli", "multinomial", "nll_loss_forward", "nll_loss_backward"),
    *("bernoulli_.Tensor", "normal.float_Tensor", "poisson"),
    "repeat_interleave.Tensor",
    *("histc", "histogram.bin_ct", "_histogramdd_bin_edges", "bincount"),
    *("histc", "histogram.bin_ct", "_histogramdd_bin_edges", "bincount"),
)
"""Operators that look where they may: at indices, divisors, signs, probabilities and classes."""


def flat(value: Any) -> list[Any]:
    """The arrays in a result, however nested."""
    is_several = isinstance(value, tuple | list)
    return [each for part in value for each in flat(part)] if is_several else [value]


@pytest.fixture(scope="module")
def strict() -> KernelTable:
    """The kernels on arrays that cannot be written."""
    return array_kernel_table(Strict(Immutable), Capabilities(Immutable, lazy=False))


@pytest.fixture(scope="module")
def lazy() -> KernelTable:
    """The kernels on arrays whose values are not there yet."""
    return array_kernel_table(Strict(Lazy), Capabilities(Lazy, lazy=True))


@pytest.fixture(scope="module")
def generic() -> KernelTable:
    """The kernels on NumPy's own arrays."""
    return array_kernel_table(np, cpu.CpuArrays())


@pytest.fixture(scope="module")
def eager() -> KernelTable:
    """The kernels on the same arrays, of a backend that does not say so."""
    return array_kernel_table(Strict(Lazy), Capabilities(Lazy, lazy=False))


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    """The declarations of the base library."""
    yaml = pytest.importorskip("yaml", reason="the declarations are in YAML")
    families = files("dovetail_aten").joinpath("families").iterdir()
    paths = [family.joinpath("native_functions.yaml") for family in families]
    return [entry for path in paths if path.is_file() for entry in yaml.safe_load(path.read_text())]


@pytest.fixture(autouse=True)
def drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers without a backend that has to be loaded."""
    monkeypatch.setattr(
        "dovetail_aten.backend.namespace_arrays.default_generator",
        lambda backend: SimpleNamespace(native=np.random.default_rng(0)),
    )


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_kernel_writes_to_nothing(name, strict):
    with np.errstate(all="ignore"):
        strict.kernels[name].fn(*wrapped(CALLS[name], Immutable), **KEYWORDS.get(name, {}))


@pytest.mark.parametrize("name", sorted(CALLS.keys() - NEED_VALUES))
def test_a_kernel_looks_at_no_value_of_a_lazy_array(name, lazy, generic):
    with np.errstate(all="ignore"):
        keywords = KEYWORDS.get(name, {})
        result = lazy.kernels[name].fn(*wrapped(CALLS[name], Lazy), **keywords)
        expected = generic.kernels[name].fn(*CALLS[name], **keywords)
    if not name.startswith(("empty", "new_empty")):
        for own, other in zip(flat(plain(result)), flat(expected), strict=True):
            if other is None:
                assert own is None
            else:
                np.testing.assert_allclose(own, other, rtol=1e-6)  # sums may be compiled


@pytest.mark.parametrize("name", LOOKING)
def test_a_kernel_looks_at_values_where_it_may(name, eager):
    with pytest.raises(LookedAtError), np.errstate(all="ignore"):
        eager.kernels[name].fn(*wrapped(CALLS[name], Lazy))


@pytest.mark.parametrize("name", sorted(RETURN_VALUES))
def test_what_returns_a_python_value_looks_at_values(name, lazy, strict):
    with pytest.raises(LookedAtError):
        lazy.kernels[name].fn(*wrapped(RETURN_VALUES[name], Lazy))
    strict.kernels[name].fn(*wrapped(RETURN_VALUES[name], Immutable))


def test_helpers_of_derivatives_look_at_no_value_of_a_lazy_array(lazy):
    k = SimpleNamespace(**lazy.helpers)
    x, y = wrapped((X, Y), Lazy)
    for result in (k.conj(x), k.real(x), k.div(x, y), k.reshape(x, (6,)), k.contiguous(x)):
        assert isinstance(result, Lazy)
    assert k.sum_to(x, (1, 3)).shape == (1, 3)
    assert k.matmul(x, y.T).shape == k.linear(x, y, y[:, 0]).shape == (2, 2)
    places = wrapped(POINTS[:, 0], Lazy)
    selected = k.value_selecting_reduction_backward(x[:, 0], 1, places, (2, 3), False)
    assert plain(selected).tolist() == [[1, 0, 0], [0, 4, 0]]


def test_every_kernel_that_is_written_here_is_called(strict):
    of_numbers = {name for each in FAMILIES for name in family_class(each).functions_of_numbers}
    functions = {name for name, each in strict.kernels.items() if not is_method(each.fn)}
    written = set(strict.kernels) - functions | of_numbers
    assert written == set(CALLS) | set(RETURN_VALUES)


def test_every_kernel_name_is_an_operator_of_the_base_library(strict, entries):
    operators = {entry["func"].partition("(")[0] for entry in entries}
    assert not sorted(set(strict.kernels) - operators)


def test_every_operator_without_a_composite_has_a_kernel(strict, entries):
    needed = {entry["func"].partition("(")[0] for entry in entries if "composite" not in entry}
    # Written out, because PyTorch calls their results otherwise than those of the operator.
    variants = {"linalg_eigh.eigvals", "triangular_solve.X"}
    assert needed - set(strict.kernels) == variants


def test_no_kernel_stands_before_an_implicit_composite(strict, entries):
    implicit = {
        e["func"].partition("(")[0]
        for e in entries
        if e.get("composite", "").startswith("implicit")
    }
    assert not sorted(set(strict.kernels) & implicit)


def test_every_kernel_of_a_table_is_registered_and_completed_when_it_is_looked_at():
    table = array_kernel_table(np, cpu.CpuArrays(), [lambda xp, kernel, _: kernel("exp", abs)])
    library = Library("aten", "IMPL", "PrivateUse1")
    try:
        register_array_kernels(library, table)
        kernels = {
            name: registry.find_qualified(f"aten::{name}").newest(DispatchKey.PrivateUse1)
            for name in table.kernels
        }
        assert None not in kernels.values()
        assert kernels["exp"].fn is abs
        assert table.kernels.is_pending("add.Tensor")
        add = kernels["add.Tensor"]
        assert (add.fast_path, add.out_function) == (np.add, np.add)
        assert inspect.unwrap(add.fn).__self__.__class__.__name__ == "Arithmetic"
        assert not table.kernels.is_pending("add.Tensor")
        assert table.kernels.is_pending("mul.Tensor")  # of the same family, completed on its own
        assert kernels["mul.Tensor"].fn is not None
        assert not table.kernels.is_pending("mul.Tensor")
    finally:
        library._destroy()
    assert {"sum_to", "conj", "real", "reshape", "contiguous", "matmul", "div"} <= set(
        table.helpers
    )


def test_a_family_that_is_loaded_later_leaves_what_took_the_place_of_its_kernels():
    table = array_kernel_table(np, cpu.CpuArrays())
    table("mul.Tensor", abs)
    del table.kernels["sub.Tensor"]
    assert table.kernels["add.Tensor"].fast_path is np.add
    assert table.kernels["mul.Tensor"].fn is abs
    assert "sub.Tensor" not in table.kernels


def test_a_class_stands_only_in_the_place_of_a_family():
    with pytest.raises(ValueError, match=r"there is no family sums\.Sums\. Take"):
        array_kernel_table(np, cpu.CpuArrays(), families={"sums.Sums": "a.b.C"})


def test_what_is_defined_later_takes_the_place_of_the_generic_kernel():
    def define(xp, kernel, capabilities):
        kernel("exp", abs)

    table = array_kernel_table(np, cpu.CpuArrays(), [define])
    assert table.kernels["exp"].fn is abs
