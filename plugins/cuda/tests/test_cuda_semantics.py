"""What CuPy does otherwise than NumPy does not show: a CUDA tensor behaves as one of the cpu."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dovetail
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


def on_both(compute, *values):
    """Return what a function gives on the cpu and on cuda, as lists."""
    found = [
        compute(*[dovetail.tensor(each, device=device) for each in values])
        for device in ("cpu", "cuda")
    ]
    assert found[0].dtype is found[1].dtype
    return [each.cpu().numpy() for each in found]


DIVISIONS = {
    "remainder": lambda x: x % 3,
    "fmod": lambda x: x.fmod(3),
    "floor_divide": lambda x: x // 3,
    "a tensor": lambda x: x % dovetail.full_like(x, 3),
    "a negative divisor": lambda x: x % -3,
    "of a number": lambda x: 7 % x,
    "trunc": lambda x: dovetail.div(x, 3, rounding_mode="trunc"),
}


@pytest.mark.parametrize("compute", DIVISIONS.values(), ids=DIVISIONS)
@pytest.mark.parametrize("values", [[7, -7, 4, 1000000007], [7.5, -7.5, 1e9, -1e9, 0.1]])
def test_divisions_with_remainders_are_those_of_the_cpu(compute, values):
    expected, found = on_both(compute, values)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide"])
@pytest.mark.parametrize(
    "x, y", [(1.0, np.inf), (-1.0, np.inf), (np.inf, 2.0), (5.0, 0.0), (-0.0, 3.0)]
)
def test_divisions_of_special_numbers_are_those_of_the_cpu(name, x, y):
    expected, found = on_both(getattr(dovetail, name), [x], [y])
    np.testing.assert_array_equal(found, expected)


def test_an_integer_division_by_zero_is_refused():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        dovetail.tensor([1], device="cuda") % 0


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical_functions_take_complex_numbers(name):
    expected, found = on_both(getattr(dovetail, name), [1 + 1j, 0j, 1j], [0j, 0j, 2 + 0j])
    assert found.tolist() == expected.tolist()


def test_logical_not_takes_complex_numbers():
    expected, found = on_both(dovetail.logical_not, [1j, 0j])
    assert found.tolist() == expected.tolist()


def test_a_write_into_an_expanded_tensor_is_refused():
    x = dovetail.zeros(1, device="cuda").expand(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(1)


def test_a_view_beyond_the_storage_is_refused_though_the_pool_has_more():
    x = dovetail.zeros(4, device="cuda")
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        x.as_strided((5,), (1,))


def test_a_cupy_array_is_shared(cupy):
    array = cupy.arange(3.0)
    x = dovetail.as_tensor(array)
    assert x.is_cuda
    array[0] = 7
    assert x.tolist() == [7, 1, 2]


def test_a_tensor_of_a_cupy_array_is_a_copy_on_its_device(cupy):
    array = cupy.arange(3.0)
    x = dovetail.tensor(array)
    assert x.is_cuda
    array[0] = 7
    assert x.tolist() == [0, 1, 2]


def test_a_tensor_shows_its_memory_to_cupy(cupy):
    x = dovetail.zeros(3, device="cuda")
    cupy.asarray(x)[1] = 5
    assert x.tolist() == [0, 5, 0]


def test_a_generator_of_the_cpu_is_refused():
    with pytest.raises(
        RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"
    ):
        dovetail.rand(2, device="cuda", generator=dovetail.Generator())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copied_generator_draws_the_same_numbers(copied):
    generator = dovetail.Generator("cuda").manual_seed(4)
    dovetail.rand(3, device="cuda", generator=generator)
    other = copied(generator)
    draws = [
        dovetail.rand(3, device="cuda", generator=each).tolist() for each in (generator, other)
    ]
    assert draws[0] == draws[1]


def test_the_state_of_a_generator_is_a_seed_and_an_offset():
    generator = dovetail.Generator("cuda").manual_seed(4)
    assert len(generator.get_state()) == 16
    assert generator.get_offset() == 0
    dovetail.rand(3, device="cuda", generator=generator)
    second = generator.get_offset()
    first = dovetail.rand(3, device="cuda", generator=generator).tolist()
    generator.set_offset(second)
    assert dovetail.rand(3, device="cuda", generator=generator).tolist() == first


def test_strides_are_kept_on_the_way_to_the_device_and_back():
    x = dovetail.arange(6.0, device="cpu").view(2, 3).t()
    assert x.cuda().stride() == x.stride()
    assert x.cuda().cpu().stride() == x.stride()


def test_a_wrong_argument_is_not_said_to_be_a_missing_operator():
    with pytest.raises(TypeError) as error:
        dovetail.ones(2, device="cuda").sum("a")
    assert "not implemented" not in str(error.value)


def test_uniform_numbers_lie_in_their_interval_and_are_spread():
    x = dovetail.rand(20000, device="cuda")
    assert x.min().item() >= 0 and x.max().item() < 1
    assert abs(x.mean().item() - 0.5) < 0.01
    assert abs(x.var().item() - 1 / 12) < 0.005


@pytest.mark.parametrize("dtype", [dovetail.float32, dovetail.float64, dovetail.float16])
def test_normal_numbers_have_their_moments(dtype):
    x = dovetail.randn(20000, device="cuda", dtype=dtype).double()
    assert abs(x.mean().item()) < 0.03
    assert abs(x.var().item() - 1) < 0.05
    assert abs((x**4).mean().item() - 3) < 0.3


def test_integers_cover_their_range():
    x = dovetail.randint(-3, 4, (5000,), device="cuda")
    assert sorted(set(x.tolist())) == list(range(-3, 4))


def test_a_permutation_has_every_number_once():
    assert sorted(dovetail.randperm(100, device="cuda").tolist()) == list(range(100))


def test_numbers_are_those_of_philox():
    # Of the authors' known answers: all bits of counter and key.
    x = dovetail.Generator("cuda").manual_seed((1 << 64) - 1)
    assert x.initial_seed() == (1 << 64) - 1


RULES = {
    "sgd": (dovetail.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "nesterov": (dovetail.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "decayed sgd": (
        dovetail.optim.SGD,
        {"lr": 0.1, "momentum": 0.5, "dampening": 0.1, "weight_decay": 0.1, "maximize": True},
    ),
    "adam": (dovetail.optim.Adam, {"lr": 0.1}),
    "decayed adam": (dovetail.optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    "adamw": (dovetail.optim.AdamW, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
    "amsgrad": (dovetail.optim.Adam, {"lr": 0.1, "amsgrad": True}),
}


@pytest.mark.parametrize("rule, options", RULES.values(), ids=RULES)
def test_steps_of_optimizers_are_those_of_the_cpu(rule, options):
    found = []
    for device in ("cpu", "cuda"):
        dovetail.manual_seed(0)
        values = [np.linspace(-1, 1, size).reshape(-1, size) for size in (1, 3, 700)] * 12
        parameters = [dovetail.tensor(each, device=device, requires_grad=True) for each in values]
        optimizer = rule(parameters, **options)
        for _ in range(4):
            optimizer.zero_grad()
            sum((each**3).sum() for each in parameters).backward()
            versions = [each._version for each in parameters]
            optimizer.step()
            assert all(
                each._version > before for each, before in zip(parameters, versions, strict=True)
            )
        found.append([each.detach().cpu().numpy() for each in parameters])
    for expected, own in zip(*found, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_of_nan_and_of_equal_elements_the_first_is_found(name, dtype):
    rows = dovetail.zeros(3, 300, 2, dtype=getattr(dovetail, dtype))
    if rows.is_floating_point():
        rows[1, [6, 224], 0] = float("nan")
    rows[2, [140, 270], 1] = 5 if name == "argmax" else -5
    for x in (rows, rows.transpose(0, 2), rows[:, ::2]):
        for dim in (0, 1, 2, None):
            found = getattr(x.to("cuda"), name)(dim)
            assert found.tolist() == getattr(x, name)(dim).tolist()
    values, places = getattr(rows.to("cuda"), name.removeprefix("arg"))(1)
    assert places.tolist() == getattr(rows, name.removeprefix("arg"))(1).indices.tolist()
    assert values.isnan().sum().item() == int(rows.is_floating_point())


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_negative_zeros_keep_their_sign(dtype, shape):
    dtype = getattr(dovetail, dtype)
    zero = dovetail.zeros(shape, dtype=dtype).neg()
    plain = zero.real if dtype.is_complex else zero
    number = complex(-0.0, -0.0) if dtype.is_complex else -0.0
    made = {
        "cuda": zero.cuda(),
        "tensor": dovetail.tensor(zero.tolist(), dtype=dtype, device="cuda"),
        "full": dovetail.full(shape, number, dtype=dtype, device="cuda"),
        "fill_": dovetail.ones(shape, dtype=dtype, device="cuda").fill_(number),
        "fill_ by a tensor": dovetail.ones(shape, dtype=dtype, device="cuda").fill_(
            zero.flatten()[0]
        ),
        "copy_": dovetail.ones(shape, dtype=dtype, device="cuda").copy_(zero),
        "where": dovetail.where(dovetail.ones(shape, device="cuda") > 0, zero.cuda(), 1),
    }
    for name, each in made.items():
        host = each.cpu()
        host = host.real if dtype.is_complex else host
        assert host.signbit().all(), name
    product = dovetail.ones(shape, device="cuda") * -0.0
    assert plain.signbit().all() and product.cpu().signbit().all()
