"""Distributions have PyTorch's densities, moments, samples, divergences, names and error texts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from devices import without_device
from distribution_examples import EXAMPLES

import dovetail
import dovetail.distributions
from dovetail_kernel import defining_module

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

LIBRARIES = (dovetail, torch)
SINGULAR = "PyTorch takes samples for singular that are not, and draws anew"
FLOATS = "PyTorch's compares doubles with floats, and raises; `test_distributions.py` has SciPy's"
MODE = "PyTorch takes the logarithm of a negative number"


def compared(reasons: dict[str, str]) -> list[Any]:
    """Return the names of all examples, but those for which there is a reason."""
    return [
        pytest.param(name, marks=pytest.mark.skip(reasons[name.split()[0]]))
        if name.split()[0] in reasons
        else name
        for name in EXAMPLES
    ]


def values(found: Any) -> Any:
    """Return a result as arrays and words that can be compared."""
    if isinstance(found, torch.Tensor | dovetail.Tensor):
        return np.asarray(found.detach().to(type(found).__module__ and found.dtype).cpu().numpy())
    if isinstance(found, tuple | list):
        return [values(each) for each in found]
    return re.sub("dovetail|torch", "lib", repr(found))


def outcome(act: Callable[[Any], Any], lib: Any) -> Any:
    """Return what a call gives, or the type of its error."""
    lib.manual_seed(3)
    try:
        return values(act(lib))
    except (NotImplementedError, ValueError, RuntimeError, AttributeError) as error:
        return type(error)


def agree(act: Callable[[Any], Any], rtol: float = 1e-7, atol: float = 1e-9) -> None:
    ours, theirs = (outcome(act, lib) for lib in LIBRARIES)
    assert isinstance(ours, np.ndarray) == isinstance(theirs, np.ndarray), (ours, theirs)
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)
    elif isinstance(theirs, list):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
    else:
        assert ours == theirs


@pytest.mark.cpu_only(reason="other devices draw other numbers")
@pytest.mark.parametrize("name", compared({"Wishart": SINGULAR}))
def test_samples_are_pytorchs(name: str) -> None:
    make = EXAMPLES[name]
    agree(lambda lib: make(lib).sample())
    agree(lambda lib: make(lib).sample((5, 2)))


@pytest.mark.cpu_only(reason="other devices draw other numbers")
@pytest.mark.parametrize("name", compared({"Wishart": SINGULAR}))
def test_differentiable_samples_and_their_gradients_are_pytorchs(name: str) -> None:
    make = EXAMPLES[name]

    def gradients(lib: Any) -> Any:
        from distribution_examples import BUILDERS, Parameters

        parameters = Parameters(lib, 1, requires_grad=True)
        drawn = BUILDERS[name](lib.distributions, parameters).rsample((4,))
        weights = lib.arange(1, drawn.numel() + 1, dtype=lib.float64).reshape(drawn.shape)
        found = lib.autograd.grad((drawn * weights).sum(), parameters.made, allow_unused=True)
        return [lib.zeros(1) if each is None else each for each in found]

    agree(lambda lib: make(lib).rsample((5,)))
    # PyTorch's derivatives of gamma numbers have four digits.
    agree(gradients, rtol=2e-3, atol=2e-3)


@pytest.mark.cpu_only(reason="other devices draw other numbers")
@pytest.mark.parametrize("name", compared({"GeneralizedPareto": FLOATS}))
def test_densities_of_samples_are_pytorchs(name: str) -> None:
    dovetail.manual_seed(5)
    numbers = EXAMPLES[name](dovetail).sample((7,)).tolist()

    def drawn(lib: Any) -> Any:
        return lib.tensor(numbers, dtype=lib.float64)

    agree(lambda lib: EXAMPLES[name](lib).log_prob(drawn(lib)), rtol=1e-6)
    agree(lambda lib: EXAMPLES[name](lib).cdf(drawn(lib)), rtol=1e-6)


@pytest.mark.parametrize("name", EXAMPLES)
def test_quantiles_are_pytorchs(name: str) -> None:
    agree(
        lambda lib: EXAMPLES[name](lib).icdf(lib.tensor([[0.05], [0.5], [0.9]], dtype=lib.float64)),
        rtol=1e-6,
    )


@pytest.mark.parametrize("attribute", ("mean", "variance", "stddev", "mode"))
@pytest.mark.parametrize("name", EXAMPLES)
def test_moments_are_pytorchs(name: str, attribute: str) -> None:
    if (name, attribute) == ("Kumaraswamy", "mode"):
        pytest.skip(MODE)
    agree(lambda lib: getattr(EXAMPLES[name](lib), attribute), rtol=1e-6)


@pytest.mark.parametrize("name", EXAMPLES)
def test_entropy_shapes_and_support_are_pytorchs(name: str) -> None:
    make = EXAMPLES[name]
    agree(lambda lib: make(lib).entropy(), rtol=1e-6)
    agree(lambda lib: make(lib).perplexity(), rtol=1e-6)
    agree(lambda lib: make(lib).enumerate_support())
    agree(lambda lib: make(lib).enumerate_support(expand=False))
    for describe in (
        lambda d: tuple(d.batch_shape),
        lambda d: tuple(d.event_shape),
        lambda d: d.has_rsample,
        lambda d: d.has_enumerate_support,
        lambda d: repr(d.support).split("(")[0],
        lambda d: sorted(d.arg_constraints),
    ):
        ours, theirs = (describe(make(lib)) for lib in LIBRARIES)
        assert ours == theirs


@pytest.mark.cpu_only(reason="other devices draw other numbers")
@pytest.mark.parametrize("name", compared({"Wishart": SINGULAR, "GeneralizedPareto": FLOATS}))
def test_expanded_distributions_are_pytorchs(name: str) -> None:
    def expanded(lib: Any) -> Any:
        own = EXAMPLES[name](lib)
        return own.expand((5, *own.batch_shape))

    agree(lambda lib: expanded(lib).sample((2,)))
    agree(lambda lib: expanded(lib).mean, rtol=1e-6)
    agree(lambda lib: expanded(lib).log_prob(expanded(lib).sample()), rtol=1e-6)


@pytest.mark.parametrize("name", EXAMPLES)
def test_descriptions_are_pytorchs(name: str) -> None:
    ours, theirs = (repr(EXAMPLES[name](lib)) for lib in LIBRARIES)
    assert re.sub("dovetail", "torch", ours) == re.sub(
        ", dtype=torch.float64", ", dtype=torch.float64", theirs
    )


PAIRS = [
    (p.__name__, q.__name__)
    for p, q in torch.distributions.kl._KL_REGISTRY
    if p.__name__ not in ("ExponentialFamily", "TransformedDistribution")
]


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergences_are_pytorchs(p: str, q: str) -> None:
    def divergence(lib: Any) -> Any:
        own, other = EXAMPLES[p](lib, 1), EXAMPLES[q](lib, 2)
        return lib.distributions.kl_divergence(own, other)

    agree(divergence, rtol=1e-6)


def test_other_divergences_are_pytorchs() -> None:
    agree(
        lambda lib: lib.distributions.kl_divergence(
            EXAMPLES["LogNormal"](lib, 1), EXAMPLES["LogNormal"](lib, 2)
        )
    )
    agree(
        lambda lib: lib.distributions.kl_divergence(
            EXAMPLES["Wishart"](lib, 1), EXAMPLES["Wishart"](lib, 2)
        ),
        rtol=1e-6,
    )
    agree(
        lambda lib: lib.distributions.kl_divergence(
            EXAMPLES["Chi2"](lib, 1), EXAMPLES["Chi2"](lib, 2)
        )
    )
    agree(
        lambda lib: lib.distributions.kl_divergence(
            EXAMPLES["Cauchy"](lib, 1), EXAMPLES["Beta"](lib, 2)
        )
    )


def test_the_registries_have_the_same_pairs() -> None:
    ours, theirs = (
        {(p.__name__, q.__name__) for p, q in lib.distributions.kl._KL_REGISTRY}
        for lib in LIBRARIES
    )
    assert ours == theirs


# -- names -----------------------------------------------------------------------------------------

MODULES = ("", ".constraints", ".transforms", ".kl", ".utils", ".constraint_registry")


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_there(module: str) -> None:
    from importlib import import_module

    ours, theirs = (import_module(f"{lib.__name__}.distributions{module}") for lib in LIBRARIES)
    missing = [name for name in getattr(theirs, "__all__", ()) if not hasattr(ours, name)]
    assert not missing
    for name in getattr(theirs, "__all__", ()):
        one, other = getattr(ours, name), getattr(theirs, name)
        if inspect.isclass(other) and issubclass(other, torch.distributions.Distribution):
            assert list(inspect.signature(one).parameters) == list(
                inspect.signature(other).parameters
            )
            assert defining_module(one).replace("dovetail", "torch") == other.__module__


# -- errors ----------------------------------------------------------------------------------------

REFUSED: dict[str, Callable[[Any], Any]] = {
    "a negative scale": lambda d, t: d.Normal(t([0.0, 1.0]), t([1.0, -1.0])),
    "one number of a negative scale": lambda d, t: d.Normal(0.0, -1.0),
    "NaN": lambda d, t: d.Normal(t([float("nan")]), 1.0),
    "what is no number": lambda d, t: d.Normal("0", 1.0),
    "an interval that ends before it begins": lambda d, t: d.Uniform(t(1.0), t(0.0)),
    "chances above 1": lambda d, t: d.Bernoulli(t([0.5, 1.5])),
    "neither chances nor logits": lambda d, t: d.Bernoulli(),
    "chances and logits": lambda d, t: d.Bernoulli(t(0.5), t(0.5)),
    "a chance of 0": lambda d, t: d.Geometric(t(0.0)),
    "one number for categories": lambda d, t: d.Categorical(t(0.5)),
    "shares that are negative": lambda d, t: d.Categorical(t([-0.5, 1.5])),
    "a weight that is a number": lambda d, t: d.Dirichlet(t(1.0)),
    "values outside": lambda d, t: d.Exponential(t([1.0, 2.0])).log_prob(t([-1.0, 1.0])),
    "values that are numbers": lambda d, t: d.Normal(0.0, 1.0).log_prob(0.5),
    "values of another shape": lambda d, t: d.Normal(t([0.0, 1.0]), 1.0).log_prob(
        t([1.0, 2.0, 3.0])
    ),
    "vectors of another length": lambda d, t: d.Dirichlet(t([1.0, 2.0])).log_prob(
        t([0.2, 0.3, 0.5])
    ),
    "a covariance that is not definite": lambda d, t: d.MultivariateNormal(
        t([0.0, 0.0]), t([[1.0, 2.0], [2.0, 1.0]])
    ),
    "two covariances": lambda d, t: d.MultivariateNormal(
        t([0.0]), t([[1.0]]), scale_tril=t([[1.0]])
    ),
    "a mean that is a number": lambda d, t: d.MultivariateNormal(t(0.0), t([[1.0]])),
    "too many dimensions": lambda d, t: d.Independent(d.Normal(t(0.0), 1.0), 1),
    "what is no transform": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
    "a mixture by something else": lambda d, t: d.MixtureSameFamily(
        d.Normal(0.0, 1.0), d.Normal(t([0.0]), 1.0)
    ),
    "components of another number": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t([0.5, 0.5])), d.Normal(t([0.0, 1.0, 2.0]), 1.0)
    ),
    "few degrees of freedom": lambda d, t: d.Wishart(t(1.0), t([[1.0, 0.0], [0.0, 1.0]])),
    "a matrix of one row": lambda d, t: d.LKJCholesky(1),
    "a default that is no bool": lambda d, t: d.Distribution.set_default_validate_args(3),
    "a divergence that is not there": lambda d, t: d.kl_divergence(
        d.Cauchy(0.0, 1.0), d.Normal(0.0, 1.0)
    ),
    "a transform to what is not known": lambda d, t: d.biject_to(d.constraints.boolean),
    "a cache of two": lambda d, t: d.ExpTransform(cache_size=2),
    "other numbers of elements": lambda d, t: d.ReshapeTransform((2, 3), (5,)),
    "a mean that is not there": lambda d, t: d.LogisticNormal(t([0.0]), t([1.0])).mean,
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_have_pytorchs_types_and_words(name: str) -> None:
    found = []
    for lib in LIBRARIES:
        with pytest.raises((ValueError, RuntimeError, NotImplementedError, TypeError)) as refusal:
            REFUSED[name](lib.distributions, lib.tensor)
        found.append(
            (refusal.type, re.sub("dovetail|torch", "lib", without_device(str(refusal.value))))
        )
    (our_type, ours), (their_type, theirs) = found
    assert our_type is their_type, (ours, theirs)
    assert ours.startswith(theirs.rstrip(".")[:200]), f"{ours}\n{theirs}"


# -- transforms ------------------------------------------------------------------------------------

TRANSFORMS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "exp": (lambda d, t: d.ExpTransform(), (3,)),
    "exp backwards": (lambda d, t: d.ExpTransform().inv, (3,)),
    "power": (lambda d, t: d.PowerTransform(t(2.5)), (3,)),
    "sigmoid": (lambda d, t: d.SigmoidTransform(), (3,)),
    "softplus": (lambda d, t: d.SoftplusTransform(), (3,)),
    "tanh": (lambda d, t: d.TanhTransform(), (3,)),
    "abs": (lambda d, t: d.AbsTransform(), (3,)),
    "affine": (lambda d, t: d.AffineTransform(1.0, t([2.0, -3.0, 0.5])), (3,)),
    "affine of vectors": (
        lambda d, t: d.AffineTransform(1.0, t([2.0, -3.0, 0.5]), event_dim=1),
        (4, 3),
    ),
    "affine by numbers": (lambda d, t: d.AffineTransform(1.0, -2.0, event_dim=1), (4, 3)),
    "composed": (
        lambda d, t: d.ComposeTransform([d.AffineTransform(0.0, 2.0), d.ExpTransform()]),
        (3,),
    ),
    "composed of vectors": (
        lambda d, t: d.ComposeTransform(
            [d.AffineTransform(0.0, 2.0), d.StickBreakingTransform(), d.AffineTransform(1.0, 3.0)]
        ),
        (2, 3),
    ),
    "the identity": (lambda d, t: d.identity_transform, (3,)),
    "independent": (lambda d, t: d.IndependentTransform(d.ExpTransform(), 1), (2, 3)),
    "reshape": (lambda d, t: d.ReshapeTransform((2, 3), (6,)), (4, 2, 3)),
    "softmax": (lambda d, t: d.SoftmaxTransform(), (2, 3)),
    "stick breaking": (lambda d, t: d.StickBreakingTransform(), (2, 3)),
    "lower cholesky": (lambda d, t: d.LowerCholeskyTransform(), (2, 3, 3)),
    "positive definite": (lambda d, t: d.PositiveDefiniteTransform(), (2, 3, 3)),
    "correlations": (lambda d, t: d.CorrCholeskyTransform(), (2, 6)),
    "cat": (
        lambda d, t: d.CatTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)], -1, [1, 2]),
        (4, 3),
    ),
    "stack": (
        lambda d, t: d.StackTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)], 1),
        (4, 2),
    ),
    "a distribution's": (
        lambda d, t: d.CumulativeDistributionTransform(d.Normal(t(0.0), t(2.0))),
        (3,),
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_pytorchs(name: str) -> None:
    build, shape = TRANSFORMS[name]
    numbers = np.random.default_rng(4).uniform(0.1, 1.0, shape)

    def both(lib: Any) -> tuple[Any, Any]:
        make = lambda v: lib.tensor(v, dtype=lib.float64)  # noqa: E731
        return build(lib.distributions, make), lib.tensor(numbers.tolist(), dtype=lib.float64)

    def applied(lib: Any) -> Any:
        transform, x = both(lib)
        return transform(x)

    def restored(lib: Any) -> Any:
        transform, x = both(lib)
        return transform.inv(transform(x))

    def jacobian(lib: Any) -> Any:
        transform, x = both(lib)
        return transform.log_abs_det_jacobian(x, transform(x))

    for act in (applied, restored, jacobian):
        agree(act, rtol=1e-6)
    for describe in (
        lambda f: tuple(f.forward_shape(shape)),
        lambda f: f.bijective,
        lambda f: f.domain.event_dim,
        lambda f: f.codomain.event_dim,
        repr,
        lambda f: repr(f.inv),
        lambda f: f.inv.inv is f,
        lambda f: f == f.inv,
    ):
        ours, theirs = (describe(both(lib)[0]) for lib in LIBRARIES)
        assert re.sub("dovetail", "torch", str(ours)) == str(theirs)


CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    name: lambda c, name=name: getattr(c, name)
    for name in (
        "boolean", "corr_cholesky", "lower_cholesky", "lower_triangular", "nonnegative",
        "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer",
        "positive_semidefinite", "real", "real_vector", "simplex", "square", "symmetric",
        "unit_interval", "dependent",
    )
} | {
    "greater_than": lambda c: c.greater_than(0.5),
    "greater_than_eq": lambda c: c.greater_than_eq(0.5),
    "less_than": lambda c: c.less_than(0.5),
    "interval": lambda c: c.interval(-1.0, 0.5),
    "half_open_interval": lambda c: c.half_open_interval(-1.0, 0.5),
    "integer_interval": lambda c: c.integer_interval(0, 2),
    "multinomial": lambda c: c.multinomial(3),
    "independent": lambda c: c.independent(c.positive, 1),
    "cat": lambda c: c.cat([c.positive, c.real], -1, [1, 2]),
    "stack": lambda c: c.stack([c.positive, c.real, c.real], -1),
}  # fmt: skip
TRIED = [
    np.array([[0.0, 1.0, 0.0], [0.25, 0.25, 0.5], [0.5, -1.0, float("nan")]]),
    np.eye(3), np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]]),
    np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]]),
]  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_and_transforms_to_them_are_pytorchs(name: str) -> None:
    make = CONSTRAINTS[name]
    for tried in TRIED:
        agree(
            lambda lib, tried=tried: make(lib.distributions.constraints).check(
                lib.tensor(tried.tolist(), dtype=lib.float64)
            )
        )
    for table in ("biject_to", "transform_to"):

        def transformed(lib: Any, table: str = table) -> Any:
            transform = getattr(lib.distributions, table)(make(lib.distributions.constraints))
            return transform(lib.tensor(TRIED[2].tolist(), dtype=lib.float64))

        agree(transformed)
    ours, theirs = (make(lib.distributions.constraints) for lib in LIBRARIES)
    assert repr(ours) == repr(theirs)
    if name != "dependent":
        assert (ours.is_discrete, ours.event_dim) == (theirs.is_discrete, theirs.event_dim)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("logit", [1e30, -1e30, 200.0, -200.0, 30.0, -3.0, 0.0])
@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
def test_densities_of_extreme_logits_are_pytorchs(dtype: str, logit: float, value: float) -> None:
    def found(lib: Any) -> list[float]:
        kind = getattr(lib, dtype)
        logits = lib.tensor([logit], dtype=kind, requires_grad=True)
        made = lib.distributions.ContinuousBernoulli(logits=logits)
        density = made.log_prob(lib.tensor([value], dtype=kind))
        density.sum().backward()
        return [density.item(), logits.grad.item(), made.mean.item(), made.variance.item()]

    assert found(dovetail) == pytest.approx(found(torch), rel=2e-4, abs=2e-6)


@pytest.mark.cpu_only(reason="the CPU alone draws what PyTorch draws there")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("concentration", [1e-6, 1e-3, 0.1])
def test_shares_of_small_concentrations_are_numbers(dtype: str, concentration: float) -> None:
    def found(lib: Any) -> Any:
        lib.manual_seed(0)
        kind = getattr(lib, dtype)
        shares = lib.distributions.Dirichlet(lib.full((3,), concentration, dtype=kind))
        halves = lib.distributions.Beta(*lib.full((2,), concentration, dtype=kind))
        return shares.sample((20,)).tolist(), halves.sample((20,)).tolist()

    (ours, our_halves), (theirs, their_halves) = found(dovetail), found(torch)
    assert ours == [pytest.approx(row, rel=1e-5) for row in theirs]
    assert our_halves == pytest.approx(their_halves, rel=1e-5)
    assert all([0 < each <= 1 for each in our_halves])
