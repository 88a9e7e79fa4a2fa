"""Every family of array kernels can be imported, and each of its kernels be called alone on NumPy's
arrays.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from dovetail_aten import kernel_support as array_kernels
from dovetail_aten._generated.array_kernels import FUNCTIONS, HELPERS, OPERATORS
from dovetail_aten.families.activations.kernels.rectifiers import Rectifiers
from dovetail_aten.families.activations.kernels.sigmoids import Sigmoids
from dovetail_aten.families.creation.kernels.creation import Creation
from dovetail_aten.families.indexing.kernels.indexing import Indexing
from dovetail_aten.families.indexing.kernels.indexing_along import IndexingAlong
from dovetail_aten.families.losses.kernels.likelihood import Likelihood
from dovetail_aten.families.losses.kernels.losses import Losses
from dovetail_aten.families.matmul.kernels import MatrixProducts
from dovetail_aten.families.normalization.kernels.normalization import Normalization
from dovetail_aten.families.pointwise.kernels.arithmetic import Arithmetic
from dovetail_aten.families.pointwise.kernels.comparison import Comparison
from dovetail_aten.families.pointwise.kernels.pointwise import Pointwise
from dovetail_aten.families.pointwise.kernels.where_clamp import Choices
from dovetail_aten.families.random.kernels.random import Random
from dovetail_aten.families.reductions.kernels.norms import Norms
from dovetail_aten.families.reductions.kernels.ordering import Ordering
from dovetail_aten.families.reductions.kernels.reductions import Reductions
from dovetail_aten.families.reductions.kernels.scans import Scans
from dovetail_aten.families.shapes.kernels import Shapes
from dovetail_aten.families.softmax.kernels import Softmax
from dovetail_aten.families.views.kernels.memory_views import MemoryViews
from dovetail_aten.families.views.kernels.views import Views
from dovetail_aten.kernel_support import FAMILIES, Family, KernelTable, family_class
from dovetail_aten.kernel_support.family import helper, operator, widened
from dovetail_aten.kernel_support.loss_reductions import MEAN, SUM
from dovetail_aten.kernel_support.namespace_functions import define_namespace_functions
from dovetail_aten.kernel_support.namespace_names import NAMES

cpu = pytest.importorskip("dovetail_cpu", reason="the capabilities of some backend are needed")
ARRAYS = cpu.CpuArrays()
X = np.array([[1.0, -2.0], [3.0, 4.0]])
SINGLE = np.dtype("float32")
CLASSES = [family_class(name) for name in FAMILIES]
KERNELS = [
    (family, name) for family in CLASSES for name in {**family.methods(), **family.helper_methods()}
]


def of(family: type[Family]) -> Any:
    """The family on NumPy."""
    return family(np, ARRAYS)


# -- what all have in common -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "name"), KERNELS, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_kernel_is_documented_and_found_by_its_name(family, name):
    found = getattr(import_module(family.__module__), family.__name__)
    method = getattr(found, name)
    assert method.__name__ == name
    assert method.__doc__


def test_families_and_functions_of_the_same_name_define_every_kernel_once():
    alike = array_kernels.KernelTable()
    define_namespace_functions(np, alike, ARRAYS)
    names = [
        name
        for family in CLASSES
        for mapping in (family.functions, family.functions_with_out, family.functions_of_numbers)
        for name in mapping
    ]
    names += [name for family in CLASSES for each in family.methods().values() for name in each]
    names += [name for family in CLASSES for name in family.scipy_functions]
    names += [name for name in alike.kernels if name not in names]
    assert sorted(names) == sorted(array_kernels.array_kernel_table(np, ARRAYS).kernels)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_family_defines_is_known_before_it_is_loaded(name: str) -> None:
    family, table = family_class(name), KernelTable()
    family.define(np, table, ARRAYS)
    assert sorted(table.kernels) == sorted(OPERATORS[name])
    assert sorted(table.helpers) == sorted(HELPERS.get(name, ()))
    own = {**family.functions, **family.functions_with_out}
    assert own == {each: FUNCTIONS[each] for each in OPERATORS[name] if each in FUNCTIONS}


def test_the_names_that_a_namespace_needs_are_those_that_kernels_use():
    used = set()
    package = Path(array_kernels.__file__).parents[1]
    paths = [*package.glob("kernel_support/*.py"), *package.glob("families/*/kernels.py")]
    for path in [*paths, *package.glob("families/*/kernels/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("xp", "self.xp"):
                used.add(node.attr)
    for family in CLASSES:
        used.update(family.functions.values(), family.functions_with_out.values())
    assert sorted(used) == sorted(NAMES)


# -- a family of one's own -------------------------------------------------------------------------


class Doubling(Family):
    """Kernels that double."""

    functions: Mapping[str, str] = {"exp": "exp"}
    functions_with_out: Mapping[str, str] = {"neg": "negative"}

    @operator("mul.Scalar", "mul.Tensor")
    @helper("twice")
    @widened
    def twice(self, x: Any, times: float = 2) -> Any:
        """Return the double."""
        assert x.dtype != np.float16
        return self.xp.multiply(x, times)


class Tripling(Doubling):
    """The same in another form."""

    def twice(self, x: Any, times: float = 3) -> Any:
        """Return the triple."""
        return Doubling.twice(self, x, times)


def test_a_family_defines_its_functions_kernels_and_helpers():
    table = KernelTable()
    Doubling.define(np, table, ARRAYS)
    assert sorted(table.kernels) == ["exp", "mul.Scalar", "mul.Tensor", "neg"]
    assert table.kernels["exp"].fn is np.exp
    assert table.kernels["exp"].out_function is None
    assert table.kernels["neg"].out_function is np.negative
    assert table.kernels["mul.Tensor"].fn(X).tolist() == (X * 2).tolist()
    assert table.helpers["twice"](X).tolist() == (X * 2).tolist()


def test_a_derived_family_takes_the_place_of_the_kernels_that_it_overrides():
    table = KernelTable()
    for family in (Doubling, Tripling):
        family.define(np, table, ARRAYS)
    assert table.kernels["mul.Tensor"].fn(X).tolist() == (X * 3).tolist()
    assert table.helpers["twice"](X).tolist() == (X * 3).tolist()


def test_half_precision_is_computed_in_single():
    half = of(Doubling).twice(np.ones(2, np.float16), times=3)
    assert (half.dtype, half.tolist()) == (np.float16, [3, 3])


def test_a_namespace_may_lack_what_no_kernel_needs():
    class Small:
        exp, negative = np.exp, np.negative

    family = Doubling(Small, ARRAYS)
    assert family.xp.exp is np.exp
    with pytest.raises(AttributeError):
        family.twice(X)


# -- a few of every family -------------------------------------------------------------------------


def test_arithmetic():
    kernels = of(Arithmetic)
    assert kernels.add(X, X, alpha=2).tolist() == (3 * X).tolist()
    assert kernels.remainder(np.array([-5]), 3).tolist() == [1]
    assert kernels.fmod(np.array([-5]), 3).tolist() == [-2]
    assert kernels.div_mode(np.array([-5]), 2, rounding_mode="trunc").tolist() == [-2]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        kernels.floor_divide(np.array([1]), np.array([0]))


def test_elementary_functions():
    kernels = of(Pointwise)
    np.testing.assert_allclose(kernels.sgn(np.array([3 + 4j, 0])), [0.6 + 0.8j, 0])
    assert kernels.xlogy(np.zeros(2), np.array([0, 2.0])).tolist() == [0, 0]
    assert kernels.nan_to_num(np.array([math.nan, math.inf]), posinf=7).tolist() == [0, 7]
    assert kernels.logaddexp(np.array([800.0]), np.array([800.0])) == 800 + math.log(2)


def test_choices():
    kernels = of(Choices)
    assert kernels.clamp(X, -1, 3).tolist() == [[1, -1], [3, 3]]
    assert kernels.where(X > 0, X, 0 * X).tolist() == [[1, 0], [3, 4]]
    assert kernels.masked_fill(X, X < 0, 9).tolist() == [[1, 9], [3, 4]]


def test_comparison():
    kernels = of(Comparison)
    table = KernelTable()
    Comparison.define(np, table, ARRAYS)
    assert table.kernels["gt.Scalar"].fn(X, 2).tolist() == [[False, False], [True, True]]
    assert kernels.equal(X, X.copy()) is True


def test_reductions():
    kernels = of(Reductions)
    assert kernels.sum(X, 0, keepdim=True).tolist() == [[4, 2]]
    assert kernels.sum(np.ones(3, bool)).dtype == np.int64
    values, places = kernels.max_along(X, 1)
    assert (values.tolist(), places.tolist()) == ([1, 4], [0, 1])
    assert kernels.var(X, correction=0) == np.var(X)
    with pytest.raises(IndexError, match="non-zero size"):
        kernels.amax(np.ones((0, 2)), 0)


def test_norms():
    kernels = of(Norms)
    assert kernels.vector_norm(X, math.inf) == 4
    assert kernels.logsumexp(np.array([1000.0, 1000.0]), 0) == 1000 + math.log(2)


def test_scans():
    kernels = of(Scans)
    assert kernels.cumsum(X, 1).tolist() == [[1, -1], [3, 7]]
    assert kernels.cumprod(np.array([2, 3], np.int32), 0).dtype == np.int64


def test_order():
    kernels = of(Ordering)
    values, places = kernels.sort(np.array([2, 1, 2]), descending=True)
    assert (values.tolist(), places.tolist()) == ([2, 2, 1], [0, 2, 1])
    assert kernels.topk(X, 1)[1].tolist() == [[0], [1]]
    assert kernels.nonzero(np.array(3)).shape == (1, 0)
    assert kernels.nonzero(np.array(0)).shape == (0, 0)


def test_matrix_products():
    kernels = of(MatrixProducts)
    assert kernels.mm(X, X).tolist() == (X @ X).tolist()
    assert kernels.addmm(X, X, X, beta=0, alpha=2).tolist() == (2 * X @ X).tolist()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        kernels.mm(X, X[:1])


def test_views():
    kernels = of(Views)
    for view in (kernels.view(X, (-1,)), kernels.select(X, 0, 1), kernels.squeeze(X[None])):
        assert np.shares_memory(view, X)
    assert [each.tolist() for each in kernels.split(X, 1)] == [[[1, -2]], [[3, 4]]]
    assert kernels.select_backward(X[0], (2, 2), 0, -1).tolist() == [[0, 0], [1, -2]]


def test_views_of_memory():
    kernels = of(MemoryViews)
    assert kernels.as_strided(X, (2,), (3,)).tolist() == [1, 4]
    assert kernels.view_as_complex(X).tolist() == [1 - 2j, 3 + 4j]
    assert kernels.view_dtype(X, SINGLE).shape == (2, 4)


def test_copies():
    kernels = of(Shapes)
    assert kernels.cat([X, X.astype(int)], 1).shape == (2, 4)
    assert kernels.tril(X).tolist() == [[1, 0], [3, 4]]
    assert kernels.roll(X, 1, 0).tolist() == [[3, 4], [1, -2]]
    assert kernels.to_copy(X + 2j, dtype=SINGLE).tolist() == X.tolist()


def test_indexing():
    kernels = of(Indexing)
    assert kernels.index(X, [None, np.array([1, 1])]).tolist() == [[-2, -2], [4, 4]]
    assert kernels.index_put(X, [np.array([0, 0])], X[0], True).tolist() == [[3, -6], [3, 4]]
    with pytest.raises(IndexError, match="out of range"):
        kernels.take(X, np.array([4]))


def test_indexing_along_a_dimension():
    kernels = of(IndexingAlong)
    assert kernels.gather(X, 1, np.array([[1], [0]])).tolist() == [[-2], [3]]
    assert kernels.scatter_add(X, 0, np.array([[1, 1]]), X).tolist() == [[1, -2], [4, 2]]
    grad = kernels.embedding_dense_backward(X, np.array([1, 0]), 2, 0, False)
    assert grad.tolist() == [[0, 0], [1, -2]]


def test_creation():
    kernels = of(Creation)
    assert kernels.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    assert kernels.arange(3, 0, -2).tolist() == [3, 1]
    assert kernels.eye(2, dtype=SINGLE).dtype == SINGLE
    with pytest.raises(RuntimeError, match="negative dimension"):
        kernels.zeros((-1,))


def test_random_numbers(monkeypatch):
    monkeypatch.setattr(ARRAYS, "source", lambda generator: generator, raising=True)
    kernels, generator = of(Random), np.random.default_rng(0)
    assert kernels.rand((3,), dtype=SINGLE, generator=generator).dtype == SINGLE
    assert sorted(kernels.randperm(4, generator=generator)) == [0, 1, 2, 3]
    assert kernels.bernoulli(np.array([0.0, 1.0]), generator=generator).tolist() == [0, 1]


def test_rectifiers():
    kernels = of(Rectifiers)
    assert kernels.relu(X).tolist() == [[1, 0], [3, 4]]
    assert kernels.hardtanh(X).tolist() == [[1, -1], [1, 1]]
    assert kernels.threshold_backward(X, X, 0).tolist() == [[1, 0], [3, 4]]
    assert kernels.elu(X, 2)[0, 1] == 2 * math.expm1(-2)


def test_smooth_activations():
    kernels = of(Sigmoids)
    assert kernels.sigmoid(np.zeros(1)).tolist() == [0.5]
    assert kernels.softplus(np.array([0.0, 30.0])).tolist() == [math.log(2), 30]
    assert kernels.gelu(np.array([1.0]))[0] == pytest.approx((1 + math.erf(math.sqrt(0.5))) / 2)


def test_softmax():
    kernels = of(Softmax)
    assert kernels.softmax(np.zeros((1, 4)), 1, False).tolist() == [[0.25] * 4]
    np.testing.assert_allclose(np.exp(kernels.log_softmax(X, 0, False)).sum(0), 1)


def test_losses():
    kernels = of(Losses)
    assert kernels.mse_loss(X, np.zeros_like(X), MEAN) == 7.5
    assert kernels.smooth_l1_loss(X, np.zeros_like(X), SUM) == 8


def test_likelihood():
    kernels = of(Likelihood)
    loss, weight = kernels.nll_loss_forward(X, np.array([0, -1]), None, SUM, -1)
    assert (loss, weight) == (-1, 1)
    with pytest.raises(IndexError, match="Target 2 is out of bounds"):
        kernels.nll_loss_forward(X, np.array([0, 2]), None, SUM, -1)


def test_normalization():
    result, mean, rstd = of(Normalization).native_layer_norm(X, (2,), None, None, 0.0)
    assert result.tolist() == [[1, -1], [-1, 1]]
    assert (mean.tolist(), rstd.tolist()) == ([[-0.5], [3.5]], [[1 / 1.5], [2]])


class Gamma(Family):
    """A family with a function of SciPy."""

    scipy_functions: ClassVar[Mapping[str, str]] = {"t::lgamma": "special.gammaln"}


def test_functions_of_scipy_are_imported_when_they_are_called() -> None:
    table = KernelTable()
    Gamma.define(np, table, ARRAYS)
    kernel = table.kernels["t::lgamma"].fn
    assert np.allclose(kernel(np.array([3.0, 5.0])), [math.log(2), math.log(24)])
    assert kernel(np.array([3.0], dtype="float16")).dtype == np.float16


def test_without_scipy_the_operator_and_the_remedy_are_named() -> None:
    class Bare(cpu.CpuArrays):  # type: ignore[name-defined, misc]
        scipy_package = None

    table = KernelTable()
    Gamma.define(np, table, Bare())
    with pytest.raises(NotImplementedError) as raised:
        table.kernels["t::lgamma"].fn(np.array([3.0]))
    assert str(raised.value) == (
        "t::lgamma needs scipy.special.gammaln, which the backend does not supply. Name a package "
        "that has it as `scipy_package` of the backend's arrays, or register a kernel of your own "
        "for the operator."
    )
