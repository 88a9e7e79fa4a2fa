"""Large arrays on several threads are what they are on one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import dovetail
from dovetail.nn import functional as F

pytestmark = pytest.mark.cpu_only(reason="threads are those of the cpu backend")

SHAPE = (1024, 1024)


@pytest.fixture(autouse=True)
def number_of_threads() -> Iterator[None]:
    """Leave the numbers of threads as they were."""
    blas = {each.filepath: each.get_num_threads() for each in libraries()}
    before = dovetail.get_num_threads()
    yield
    dovetail.set_num_threads(before)
    for each in libraries():  # a test may load the first function of SciPy's
        each.set_num_threads(blas.get(each.filepath, each.get_num_threads()))


def libraries():
    found = ThreadpoolController().lib_controllers
    return [each for each in found if each.user_api == "blas"]


def step(x):
    """Return the results and the gradient of some operators of every kind of kernel."""
    x = x.clone().requires_grad_()
    y = (x * 2 + 1).exp() / x.cosh() - x.sin()
    made = [y, F.gelu(y), F.softmax(y, -1), F.layer_norm(y, y.shape[-1:]), y.logsumexp(1)]
    image = y.reshape(8, 8, 128, 128)
    made += [F.max_pool2d(image, 2), F.mse_loss(y, x), y > x, (y + 1).add_(x).mul_(0.5)]
    sum([each.sum() for each in made if each.requires_grad]).backward()
    return [*made, x.grad, image]


def test_results_and_gradients_do_not_depend_on_the_number_of_threads():
    x = dovetail.from_numpy(np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32))
    dovetail.set_num_threads(1)
    expected = step(x)
    for number in (2, 3, 5):
        dovetail.set_num_threads(number)
        for found, one in zip(step(x), expected, strict=True):
            np.testing.assert_array_equal(found.detach().numpy(), one.detach().numpy())


def test_the_number_of_threads_is_that_of_blas_too():
    for number in (1, 2):
        dovetail.set_num_threads(number)
        assert dovetail.get_num_threads() == number
        assert {each.get_num_threads() for each in libraries()} <= {number}


@pytest.mark.parametrize("wrong", [0, -1])
def test_a_number_of_threads_is_positive(wrong):
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        dovetail.set_num_threads(wrong)
