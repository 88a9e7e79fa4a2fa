"""Random numbers: dtypes, ranges, distributions, generators, errors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from dovetail_aten.backend.generator import Generator

FLOATS = (
    np.dtype("float16"),
    np.dtype(ml_dtypes.bfloat16),
    np.dtype("float32"),
    np.dtype("float64"),
)
ZEROS = np.zeros((200, 100), np.float32)
DRAWS = (
    ("rand", (4,)),
    ("randn", (4,)),
    ("randint", 100, (4,)),
    ("randint.low", -50, 50, (4,)),
    ("randperm", 20),
    ("uniform_", ZEROS),
    ("normal_", ZEROS),
    ("bernoulli_.float", ZEROS, 0.5),
    ("bernoulli", ZEROS + np.float32(0.5)),
    ("multinomial", np.full(10, 0.1), 5),
)


class Seeded(Generator):
    """A generator of NumPy's own, without a backend that has to be loaded."""

    def __init__(self, seed: int) -> None:
        super().__init__("cpu")
        self._native = np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize("call", DRAWS, ids=lambda call: call[0])
def test_one_seed_gives_the_same_numbers_again(call, kernel):
    name, *args = call
    first, second, other = [
        np.asarray(kernel(name, *args, generator=Seeded(seed))) for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_numbers_have_the_dtype_asked_for(dtype, kernel):
    for name in ("rand", "randn"):
        result = kernel(name, (2, 3), dtype=dtype, generator=Seeded(0))
        assert result.dtype == dtype
        assert result.shape == (2, 3)
        assert np.shape(kernel(name, (), dtype=dtype, generator=Seeded(0))) == ()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_numbers_stay_below_one_in_any_precision(dtype, kernel):
    result = kernel("rand", (200_000,), dtype=dtype, generator=Seeded(0)).astype(np.float64)
    assert result.min() >= 0
    assert result.max() < 1
    assert abs(result.mean() - 0.5) < 0.01


def test_numbers_have_the_moments_of_their_distribution(kernel):
    normal = kernel("normal_", ZEROS, 2.0, 3.0, generator=Seeded(0))
    assert normal.dtype == np.float32
    assert abs(normal.mean() - 2) < 0.1
    assert abs(normal.std() - 3) < 0.1
    uniform = kernel("uniform_", ZEROS, -1.0, 3.0, generator=Seeded(0))
    assert uniform.min() >= -1
    assert uniform.max() <= 3
    assert abs(uniform.mean() - 1) < 0.05
    assert abs(kernel("bernoulli_.float", ZEROS, 0.25, generator=Seeded(0)).mean() - 0.25) < 0.02


def test_complex_numbers_have_variance_one(kernel):
    result = kernel("randn", (20_000,), dtype=np.dtype("complex64"), generator=Seeded(0))
    assert result.dtype == np.complex64
    assert abs(np.var(result) - 1) < 0.05


def test_a_permutation_has_every_number_once(kernel):
    result = kernel("randperm", 50, generator=Seeded(0))
    assert result.dtype == np.int64
    np.testing.assert_array_equal(np.sort(result), np.arange(50))


def test_integers_cover_their_range(kernel):
    result = kernel("randint.low", -2, 3, (1000,), generator=Seeded(0))
    assert set(result.tolist()) == {-2, -1, 0, 1, 2}
    assert (
        kernel("randint", 5, (3,), dtype=np.dtype("float32"), generator=Seeded(0)).dtype
        == np.float32
    )


def test_dropout_without_training_keeps_everything(kernel):
    result, mask = kernel("native_dropout", ZEROS + np.float32(1), 0.5, False)
    assert mask.all()
    assert (result == 1).all()


def test_dropout_with_probability_one_drops_everything(kernel):
    result, mask = kernel("native_dropout", ZEROS + np.float32(1), 1.0, True)
    assert not mask.any()
    assert not result.any()


def test_a_sample_without_replacement_has_no_number_twice_and_none_of_weight_zero(kernel):
    weights = np.array([[1, 2, 0, 3.0], [1, 1, 1, 0]])
    result = kernel("multinomial", weights, 3, generator=Seeded(0))
    assert sorted(result[0].tolist()) == [0, 1, 3]
    assert sorted(result[1].tolist()) == [0, 1, 2]


def test_a_sample_with_replacement_follows_the_weights(kernel):
    result = kernel(
        "multinomial", np.array([1, 0, 3], np.float32), 20_000, True, generator=Seeded(0)
    )
    frequencies = np.bincount(result, minlength=3) / 20_000
    np.testing.assert_allclose(frequencies, [0.25, 0, 0.75], atol=0.02)


@pytest.mark.parametrize(
    ("name", "args", "error", "words"),
    (
        (
            "randint",
            (0, (2,)),
            RuntimeError,
            r"random_ expects 'from' to be less than 'to', but got from=0 >= to=0",
        ),
        ("randperm", (-1,), RuntimeError, "negative dimension -1"),
        (
            "uniform_",
            (ZEROS, 2, 1),
            RuntimeError,
            r"uniform_ expects to return a \[from, to\) range, but found from=2 > to=1",
        ),
        ("uniform_", (np.zeros(2, np.int64),), NotImplementedError, "not implemented for 'Long'"),
        ("normal_", (ZEROS, 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        ("bernoulli", (ZEROS + 2,), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
        (
            "bernoulli_.float",
            (ZEROS, 2),
            RuntimeError,
            r"bernoulli_ expects p to be in \[0, 1\], but got p=2",
        ),
        ("multinomial", (np.zeros(2), 1), RuntimeError, "sum of probabilities <= 0"),
        ("multinomial", (np.ones(2), 3), RuntimeError, "without replacement"),
        (
            "multinomial",
            (np.array([-1.0, 1]), 1),
            RuntimeError,
            "contains either `inf`, `nan` or element < 0",
        ),
        ("multinomial", (np.ones(2), 0), RuntimeError, "n_sample <= 0"),
    ),
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_wrong_draw_raises_what_pytorch_raises(name, args, error, words, kernel):
    with pytest.raises(error, match=words):
        kernel(name, *args)
