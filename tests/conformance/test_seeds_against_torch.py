"""Equal seeds give PyTorch's numbers on the cpu, and leave the generator in PyTorch's state.

Draws are compared bit by bit, but for those that `docs/seeds.md` lists: each of them has an
example here that shows what the page says. `DOVETAIL_CALLS=500` draws more sequences.
"""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_interpreter import printed_by

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = pytest.mark.cpu_only(reason="other devices draw numbers of their own")
PAGE = Path(__file__).parents[2] / "docs" / "seeds.md"
SEQUENCES = int(os.environ.get("DOVETAIL_CALLS", "12"))
Draw = Callable[[Any], Any]

FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
SHAPES = ((), (3,), (0,), (15,), (16,), (17,), (4, 5, 6), (1000,))


def streams_of_mkl() -> bool:
    """Say whether PyTorch draws bernoulli and exponential numbers from MKL, as it does on
    processors of Intel.
    """
    torch.manual_seed(0)
    torch.empty(1000).bernoulli_(0.5)
    after = torch.rand(1).item()
    torch.manual_seed(0)
    return bool(torch.rand(2)[1].item() == after)


STREAMS_OF_MKL = streams_of_mkl()


def vectors_of_numpy() -> bool:
    """Say whether NumPy has logarithms of its own for vectors of doubles, as on processors with
    AVX-512: the last bits of what is computed of them are others.
    """
    probe = np.random.default_rng(0).random(1000)
    return bool((np.log(probe) != [math.log(each) for each in probe]).any())


VECTORS_OF_NUMPY = vectors_of_numpy()


def probabilities(lib: Any, dtype: str) -> Any:
    return (lib.arange(1000, dtype=lib.float64) / 1000).to(getattr(lib, dtype))


def memories(lib: Any, dtype: str) -> list[Any]:
    """Return tensors that lie in memory in different ways."""
    made = lib.zeros(20, 30, dtype=getattr(lib, dtype))
    third = lib.zeros(5, 6, 7, dtype=getattr(lib, dtype))
    return [
        made,
        made.t(),
        made[::2],
        made[:, ::2],
        third.permute(2, 0, 1)[::2],
        made[0],
        made[0, 0],
    ]


def written(name: str, *args: Any) -> Callable[[str], Draw]:
    """Return draws that write into tensors of a dtype."""

    def of_dtype(dtype: str) -> Draw:
        return lambda lib: [getattr(x, name)(*args).clone() for x in memories(lib, dtype)]

    return of_dtype


def made(name: str, **options: Any) -> Callable[[str], Draw]:
    """Return draws that make tensors of a dtype."""

    def of_dtype(dtype: str) -> Draw:
        return lambda lib: [
            getattr(lib, name)(shape, dtype=getattr(lib, dtype), **options) for shape in SHAPES
        ]

    return of_dtype


def weighted(samples: int, replacement: bool) -> Callable[[str], Draw]:
    def of_dtype(dtype: str) -> Draw:
        def draw(lib: Any) -> list[Any]:
            weights = (lib.arange(100, dtype=lib.float64) + 1).to(getattr(lib, dtype)) / 128
            rows = weights.reshape(5, 20)
            return [lib.multinomial(w, samples, replacement) for w in (weights, rows, rows.t())]

        return draw

    return of_dtype


def likes(lib: Any, name: str, dtype: str) -> list[Any]:
    return [getattr(lib, name)(x) for x in memories(lib, dtype)]


EQUAL: dict[str, Draw] = {
    **{f"rand {d}": made("rand")(d) for d in (*FLOATS, "complex64", "complex128")},
    **{f"rand_like {d}": lambda lib, d=d: likes(lib, "rand_like", d) for d in FLOATS},
    **{f"uniform_ {d}": written("uniform_", -0.37, 1.23)(d) for d in FLOATS},
    "uniform_ where rounding reaches the end": lambda lib: lib.zeros(1000).uniform_(
        2**20, 2**20 + 1),
    **{f"randn {d}": made("randn")(d) for d in ("float64", "complex128")},
    "randn_like float64": lambda lib: likes(lib, "randn_like", "float64"),
    **{f"normal_ {d}": written("normal_", 0.5, 0.7)(d) for d in ("float64",)},
    "randn below 16": lambda lib: [lib.randn(n) for n in (1, 2, 3, 15)],
    "normal_ over gaps": lambda lib: lib.zeros(20, 30)[:, ::2].normal_(0.5, 0.7).clone(),
    "normal by tensors": lambda lib: lib.normal(
        lib.arange(40, dtype=lib.float64), lib.arange(40, dtype=lib.float64) / 8
    ),
    **{f"randint of {n}": lambda lib, n=n: lib.randint(-n // 2, n - n // 2, (500,))
       for n in (10, 2**25, 2**28 - 1, 2**28, 2**32, 2**40, 2**62)},
    **{f"randint {d}": lambda lib, d=d: lib.randint(3, 100, (4, 5), dtype=getattr(lib, d))
       for d in (*INTEGERS, *FLOATS)},
    **{f"randperm of {n}": lambda lib, n=n: lib.randperm(n)
       for n in (0, 1, 2, 10, 8191, 8192, 30000)},
    **{f"randperm {d}": lambda lib, d=d: lib.randperm(100, dtype=getattr(lib, d))
       for d in INTEGERS},
    **{f"random_ {d}": written("random_")(d) for d in (*INTEGERS, *FLOATS, "bool")},
    **{f"random_ below 100 {d}": written("random_", 100)(d) for d in (*INTEGERS, *FLOATS)},
    **{f"random_ from 5 {d}": written("random_", 5, None)(d) for d in (*INTEGERS, *FLOATS)},
    "random_ of 64 bits": written("random_", -(2**63), None)("int64"),
    **{f"geometric_ {d}": written("geometric_", 0.3)(d) for d in (*INTEGERS, *FLOATS)},
    **{f"cauchy_ {d}": written("cauchy_", 1.0, 2.0)(d) for d in FLOATS},
    **{f"log_normal_ {d}": written("log_normal_", 0.5, 0.7)(d) for d in FLOATS},
    **{f"poisson of {rate}": lambda lib, rate=rate: lib.poisson(lib.full((300,), rate))
       for rate in (0.0, 0.3, 9.9, 10.0, 1e4)},
    "poisson of many rates": lambda lib: lib.poisson(lib.arange(500) / 16),
    **{f"binomial of {n} by {p}": lambda lib, n=n, p=p: lib.binomial(
        lib.full((300,), n), lib.full((300,), p))
       for n, p in ((3.0, 0.3), (300.0, 0.3), (300.0, 0.9), (1000.0, 0.001), (20.0, 1.0))},
    **{f"gamma numbers of {a}": lambda lib, a=a: lib.ops.aten._standard_gamma(
        lib.full((300,), a, dtype=lib.float64)) for a in (0.1, 1.0, 3.0, 100.0)},
    "dirichlet numbers": lambda lib: lib.ops.aten._sample_dirichlet(
        (lib.arange(60, dtype=lib.float64) + 1).reshape(20, 3) / 8),
    **{f"weights with replacement {d}": weighted(500, True)(d) for d in FLOATS},
    "rrelu": lambda lib: lib.nn.functional.rrelu(
        lib.arange(-50.0, 50).reshape(5, 20).t(), training=True),
    "bernoulli by float32": lambda lib: [
        lib.bernoulli(probabilities(lib, "float32").reshape(20, 50).t()),
        lib.zeros(1000).bernoulli_(probabilities(lib, "bfloat16"))],
    "layers": lambda lib: [p for layer in (
        lib.nn.Linear(30, 20), lib.nn.Conv2d(3, 8, 3), lib.nn.Bilinear(3, 4, 5))
        for p in layer.parameters()],
}  # fmt: skip
"""What both libraries draw, bit by bit."""

STREAMED: dict[str, Draw] = {
    **{f"bernoulli_ {d}": written("bernoulli_", 0.3)(d) for d in (*FLOATS, *INTEGERS, "bool")},
    **{f"exponential_ {d}": written("exponential_", 2.5)(d) for d in FLOATS},
    "bernoulli by float64": lambda lib: lib.bernoulli(probabilities(lib, "float64")),
    "bernoulli by number": lambda lib: lib.bernoulli(lib.zeros(40), 0.3),
    **{f"dropout {d}": lambda lib, d=d: [
        lib.nn.functional.dropout(x + 1, 0.3) for x in memories(lib, d)]
       for d in ("float64", "float32")},
    "dropout of channels": lambda lib: lib.nn.functional.dropout2d(lib.ones(10, 10, 4, 4), 0.3),
    "native_dropout": lambda lib: lib.native_dropout(lib.ones(1000), 0.3, True),
    "alpha_dropout": lambda lib: lib.nn.functional.alpha_dropout(lib.ones(999), 0.3, True),
    "gumbel_softmax": lambda lib: [
        lib.nn.functional.gumbel_softmax(x).argmax(-1) for x in memories(lib, "float64")[:-1]],
    **{f"weights without replacement {d}": weighted(3, False)(d) for d in ("float64", "float32")},
    **{f"one weight {d}": weighted(1, True)(d) for d in ("float64", "float32")},
}  # fmt: skip
"""The same, on processors whose PyTorch does not draw them from MKL."""

ROUNDED: dict[str, tuple[float, list[Draw]]] = {
    "normal numbers of float32 in blocks of 16": (3e-7, [
        made("randn")("float32"), made("randn")("complex64"),
        written("normal_", 0.5, 0.7)("float32"),
        lambda lib: lib.normal(lib.zeros(40), lib.ones(40)),
        lambda lib: lib.nn.Embedding(30, 20).weight]),
    "normal numbers of half precision in blocks of 16": (2e-3, [
        lambda lib: lib.zeros(40000, dtype=lib.float16).normal_(0.5, 0.7),
        made("randn")("bfloat16"), written("normal_", 0.5, 0.7)("float16")]),
    "gamma numbers of float32": (3e-6, [
        lambda lib: lib.ops.aten._standard_gamma(lib.full((300,), 0.3)),
        lambda lib: lib.ops.aten._sample_dirichlet(lib.full((20, 5), 2.0))]),
    "`rrelu` of bfloat16": (0.01, [lambda lib: lib.nn.functional.rrelu(
        -(lib.arange(100) + 1).to(lib.bfloat16), training=True)]),
}  # fmt: skip
"""What differs by rounding, and by how much of the greatest number."""

DIFFERENT: dict[str, Draw] = {
    "`normal_` of complex numbers with a mean other than 0": lambda lib: lib.zeros(
        7, dtype=lib.complex128
    ).normal_(1.0, 2.0),
    "`multinomial` of half precision without replacement": lambda lib: lib.multinomial(
        (lib.arange(100, dtype=lib.float64) / 99).to(lib.float16), 50
    ),
}
"""What is not equal."""


def numbers(drawn: Any) -> list[np.ndarray[Any, Any]]:
    """Return results as doubles, which hold all values but those of int64."""
    several = drawn if isinstance(drawn, list | tuple) else [drawn]
    found = []
    for each in several:
        lib = torch if isinstance(each, torch.Tensor) else dovetail
        wide = lib.complex128 if each.is_complex() else lib.float64
        kept = each.detach() if each.dtype == lib.int64 else each.detach().to(wide)
        found.append(np.asarray(kept.cpu().numpy()))
    return found


def drawn_from(lib: Any, seed: int, *draws: Draw) -> tuple[list[np.ndarray[Any, Any]], bytes]:
    lib.manual_seed(seed)
    found = [each for draw in draws for each in numbers(draw(lib))]
    return found, bytes(lib.get_rng_state().tolist())


def compare(seed: int, *draws: Draw) -> None:
    (ours, our_state), (theirs, their_state) = (
        drawn_from(lib, seed, *draws) for lib in (dovetail, torch)
    )
    for one, other in zip(ours, theirs, strict=True):
        if VECTORS_OF_NUMPY and one.dtype.kind in "fc":
            np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-14)
        else:
            np.testing.assert_array_equal(one, other)
    assert our_state == their_state


@pytest.mark.parametrize("name", EQUAL)
def test_a_draw_gives_pytorchs_bits_and_state(name: str) -> None:
    for seed in (2**40 + 3,):
        compare(seed, EQUAL[name])


@pytest.mark.skipif(STREAMS_OF_MKL, reason="PyTorch draws these from MKL on this processor")
@pytest.mark.parametrize("name", STREAMED)
def test_a_draw_of_chances_gives_pytorchs_bits_and_state(name: str) -> None:
    for seed in (0, 2**40 + 3):
        compare(seed, STREAMED[name])


@pytest.mark.parametrize("number", range(SEQUENCES))
def test_draws_after_one_another_give_pytorchs_bits_and_state(number: int) -> None:
    chosen = random.Random(number)
    known = [*EQUAL.values(), *(() if STREAMS_OF_MKL else STREAMED.values())]
    compare(chosen.randrange(2**64), *chosen.choices(known, k=8))


@pytest.mark.parametrize("name", ROUNDED)
def test_what_the_page_says_is_rounded_is_rounded(name: str) -> None:
    tolerance, draws = ROUNDED[name]
    if STREAMS_OF_MKL and "dropout" in name:
        pytest.skip("PyTorch draws these from MKL on this processor")
    (ours, our_state), (theirs, their_state) = (
        drawn_from(lib, 0, *draws) for lib in (dovetail, torch)
    )
    pairs = [pair for pair in zip(ours, theirs, strict=True) if pair[0].size]
    assert any((one != other).any() for one, other in pairs), "it is equal: say so on the page"
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max())
    assert our_state == their_state


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_the_page_says_is_not_equal_is_not(name: str) -> None:
    if STREAMS_OF_MKL and "multinomial" in name:
        pytest.skip("PyTorch draws these from MKL on this processor")
    (ours, our_state), (theirs, their_state) = (
        drawn_from(lib, 0, DIFFERENT[name]) for lib in (dovetail, torch)
    )
    assert any((one != other).any() for one, other in zip(ours, theirs, strict=True))
    assert our_state == their_state


def test_the_page_lists_exactly_what_differs() -> None:
    rows = re.findall(
        r"^\| (rounding|another number) \| ([^|]+?) \|", PAGE.read_text(), re.MULTILINE
    )
    assert {name for kind, name in rows if kind == "rounding"} == set(ROUNDED)
    assert {name for kind, name in rows if kind == "another number"} == set(DIFFERENT)


# -- distributions ---------------------------------------------------------------------------------

UNEQUAL = {"Wishart": "PyTorch takes samples for singular that are not, and draws them anew"}

STREAMED_DISTRIBUTIONS = {
    "Bernoulli", "Categorical", "Exponential", "MixtureSameFamily", "Multinomial",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Weibull",
}  # fmt: skip


def distributions(lib: Any) -> dict[str, Any]:
    """Return a distribution of each class that draws samples, of doubles."""
    d, eye = lib.distributions, lib.eye(2, dtype=lib.float64)
    low, high, chance = (lib.tensor(v, dtype=lib.float64) for v in ([0.5, 1.5], [3, 4], [0.3, 0.7]))
    normals = d.Normal(low, high)
    return {
        **{name: getattr(d, name)(low, high) for name in (
            "Beta", "Cauchy", "FisherSnedecor", "Gamma", "Gumbel", "InverseGamma", "Kumaraswamy",
            "Laplace", "LogNormal", "LogisticNormal", "Normal", "Pareto", "Uniform", "VonMises",
            "Weibull")},
        **{name: getattr(d, name)(high) for name in (
            "Chi2", "Dirichlet", "Exponential", "HalfCauchy", "HalfNormal", "Poisson", "StudentT")},
        **{name: getattr(d, name)(chance) for name in (
            "Bernoulli", "Categorical", "ContinuousBernoulli", "Geometric", "OneHotCategorical",
            "OneHotCategoricalStraightThrough")},
        **{name: getattr(d, name)(5, chance) for name in (
            "Binomial", "Multinomial", "NegativeBinomial")},
        **{name: getattr(d, name)(chance[0], chance) for name in (
            "RelaxedBernoulli", "RelaxedOneHotCategorical")},
        "GeneralizedPareto": d.GeneralizedPareto(low, high, chance),
        "Independent": d.Independent(normals, 1),
        "LKJCholesky": d.LKJCholesky(3, high),
        "LowRankMultivariateNormal": d.LowRankMultivariateNormal(low, eye, high),
        "MixtureSameFamily": d.MixtureSameFamily(d.Categorical(chance), normals),
        "MultivariateNormal": d.MultivariateNormal(low, eye),
        "TransformedDistribution": d.TransformedDistribution(normals, d.ExpTransform()),
        "Wishart": d.Wishart(high, eye),
    }  # fmt: skip


def test_every_distribution_that_draws_is_compared() -> None:
    known = {"Distribution", "ExponentialFamily"} | set(distributions(dovetail))
    public = {
        name for name in torch.distributions.__all__
        if isinstance(each := getattr(torch.distributions, name), type)
        and issubclass(each, torch.distributions.Distribution)
    }  # fmt: skip
    assert public == known


@pytest.mark.filterwarnings("ignore:Singular sample")
@pytest.mark.parametrize("name", distributions(torch))
def test_samples_of_a_distribution_are_pytorchs_and_so_is_the_state(name: str) -> None:
    if STREAMS_OF_MKL and name in STREAMED_DISTRIBUTIONS:
        pytest.skip("PyTorch draws these from MKL on this processor")
    for shape in ((), (7,), (3, 5)):
        (ours, our_state), (theirs, their_state) = (
            drawn_from(lib, 3, lambda lib, shape=shape: distributions(lib)[name].sample(shape))
            for lib in (dovetail, torch)
        )
        same = all(np.allclose(*pair, rtol=1e-12) for pair in zip(ours, theirs, strict=True))
        assert (same and our_state == their_state) == (name not in UNEQUAL), shape


# -- states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("drawn", (0, 1, 5, 623, 624, 625, 1300))
@pytest.mark.parametrize("normal", (False, True))
def test_states_go_from_one_library_to_the_other_and_back(drawn: int, normal: bool) -> None:
    def begun(lib: Any) -> Any:
        generator = lib.Generator().manual_seed(2**33 + 7)
        lib.rand(drawn, generator=generator)
        if normal:
            lib.randn(3, generator=generator)
        return generator

    def goes_on(lib: Any, state: list[int]) -> tuple[list[float], bytes, int]:
        generator = lib.Generator()
        generator.set_state(lib.tensor(state, dtype=lib.uint8))
        found = (
            lib.randn(3, generator=generator).tolist() + lib.rand(5, generator=generator).tolist()
        )
        return found, bytes(generator.get_state().tolist()), generator.initial_seed()

    ours, theirs = (begun(lib).get_state().tolist() for lib in (dovetail, torch))
    assert ours == theirs
    assert goes_on(dovetail, theirs) == goes_on(torch, ours)


REFUSED: dict[str, Draw] = {
    "a state of another size": lambda lib: lib.Generator().set_state(
        lib.zeros(10, dtype=lib.uint8)
    ),
    "a state of zeros": lambda lib: lib.Generator().set_state(lib.zeros(5056, dtype=lib.uint8)),
    "a state of floats": lambda lib: lib.Generator().set_state(lib.zeros(5056)),
    "a list": lambda lib: lib.Generator().set_state([1]),
    "a seed that is text": lambda lib: lib.Generator().manual_seed("1"),
    "a seed with a fraction": lambda lib: lib.Generator().manual_seed(1.5),
    "a seed of 65 bits": lambda lib: lib.Generator().manual_seed(2**64),
    "a state of graphs": lambda lib: lib.Generator().graphsafe_get_state(),
    "a state for graphs": lambda lib: lib.Generator().graphsafe_set_state(lib.Generator()),
    "an offset": lambda lib: lib.Generator().get_offset(),
    "another offset": lambda lib: lib.Generator().set_offset(4),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_generator_refuses_is_refused_in_the_same_words(name: str) -> None:
    texts = []
    for lib in (dovetail, torch):
        with pytest.raises((RuntimeError, TypeError, ValueError, NotImplementedError)) as refusal:
            REFUSED[name](lib)
        words = re.sub("dovetail|torch", "lib", str(refusal.value))
        texts.append((refusal.type, words))
    (our_type, ours), (their_type, theirs) = texts
    assert our_type is their_type
    assert ours.startswith(re.split("[:.]|CPUGenerator", theirs)[0].removesuffix(" a "))


# -- a program -------------------------------------------------------------------------------------


def losses(lib: Any) -> list[float]:
    """Train a network with dropout on shuffled batches."""
    lib.manual_seed(7)
    images = lib.rand(96, 64)
    labels = lib.randint(0, 10, (96,))
    model = lib.nn.Sequential(
        lib.nn.Linear(64, 32), lib.nn.ReLU(), lib.nn.Dropout(0.25), lib.nn.Linear(32, 10)
    )
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(3):
        order = lib.randperm(96)
        for start in range(0, 96, 16):
            batch = order[start : start + 16]
            optimizer.zero_grad()
            loss = lib.nn.functional.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    return found


@pytest.mark.skipif(STREAMS_OF_MKL, reason="PyTorch draws dropout from MKL on this processor")
def test_a_seeded_training_gives_pytorchs_loss_curve() -> None:
    np.testing.assert_allclose(losses(dovetail), losses(torch), rtol=2e-5)


@pytest.mark.parametrize("name", ["dovetail", "torch"])
def test_a_process_without_a_seed_draws_its_own_by_chance(name: str) -> None:
    program = f"import {name} as lib\nprint(lib.initial_seed(), lib.rand(3).tolist())"
    first, second = printed_by(program), printed_by(program)
    assert first.split(maxsplit=1)[0] != second.split(maxsplit=1)[0]
    assert first.split(maxsplit=1)[1] != second.split(maxsplit=1)[1]


def test_a_generator_begins_with_the_seed_that_it_has_in_pytorch() -> None:
    assert dovetail.Generator().initial_seed() == torch.Generator().initial_seed()
    numbers = [lib.rand(3, generator=lib.Generator()).tolist() for lib in (dovetail, torch)]
    assert numbers[0] == numbers[1]


@pytest.mark.filterwarnings("ignore:.*out of bounds")
@pytest.mark.parametrize("dtype", FLOATS)
def test_integers_of_floating_dtypes_have_the_bounds_that_these_can_hold(dtype: str) -> None:
    bits = {"bfloat16": 12, "float16": 15}.get(dtype, 60)
    for seed in range(40 * SEQUENCES):
        drawn = random.Random(f"{dtype} {seed}")
        low = drawn.choice((1, -1)) * drawn.randrange(2 ** drawn.randint(1, bits))
        high = low + 1 + drawn.randrange(2 ** drawn.randint(1, bits))
        made = []
        for lib in (torch, dovetail):
            lib.manual_seed(seed)
            try:
                made.append(lib.empty(4, dtype=getattr(lib, dtype)).random_(low, high).tolist())
            except RuntimeError as error:
                made.append(["is refused", "less than" in str(error)])
        assert made[0] == made[1], (low, high)


@pytest.mark.parametrize("shape", [(2, 0), (0,), (0, 3), (0, 0)])
@pytest.mark.parametrize("samples", [0, 1, 5])
@pytest.mark.parametrize("replacement", [False, True])
def test_draws_of_nothing_are_refused_or_have_no_rows(
    shape: tuple[int, ...], samples: int, replacement: bool
) -> None:
    outcomes = []
    for lib in (dovetail, torch):
        try:
            drawn = lib.multinomial(lib.ones(shape), samples, replacement)
            outcomes.append((str(drawn.dtype).split(".")[1], tuple(drawn.shape)))
        except RuntimeError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]
