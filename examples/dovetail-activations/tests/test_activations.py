"""The activations as their users see them."""

import subprocess
import sys

import numpy as np
import pytest
from dovetail_activations import Snake, Squareplus

import dovetail

REFERENCE = {
    "squareplus": lambda x, p: (x + np.sqrt(x * x + p)) / 2,
    "snake": lambda x, p: x + np.sin(p * x) ** 2 / p,
}


@pytest.fixture(params=["squareplus", "snake"])
def name(request):
    return request.param


@pytest.fixture(params=["activations", "activations_custom"])
def namespace(request):
    """One namespace per style: of `Library`, and of `custom_op`."""
    return getattr(dovetail.ops, request.param)


@pytest.fixture
def operator(namespace, name):
    return getattr(namespace, name)


@pytest.mark.op_infos("activations")
def test_an_operator_passes_every_check(op_check):
    op_check()


@pytest.mark.op_infos("activations_custom")
def test_an_operator_in_the_style_of_custom_op_passes_every_check(op_check):
    op_check()


def test_the_result_is_that_of_the_published_formula(name, operator):
    x = np.linspace(-3, 3, 13)
    result = operator(dovetail.tensor(x), dovetail.tensor(1.5, dtype=dovetail.float64))
    np.testing.assert_allclose(result.cpu().numpy(), REFERENCE[name](x, 1.5), rtol=1e-14)


def test_float32_stays_float32(operator):
    assert operator(dovetail.ones(3), dovetail.tensor(2.0)).dtype is dovetail.float32


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1)])
def test_gradients_of_both_arguments_are_right_for_broadcasting_parameters(operator, shape):
    generator = np.random.default_rng(0)
    x = dovetail.tensor(generator.normal(size=(3, 4)), requires_grad=True)
    parameter = dovetail.tensor(generator.uniform(0.5, 2, size=shape), requires_grad=True)
    assert dovetail.autograd.gradcheck(operator, (x, parameter))
    assert dovetail.autograd.gradgradcheck(operator, (x, parameter))


def test_meta_tensors_give_the_broadcast_shape(operator):
    result = operator(dovetail.ones(3, 1, device="meta"), dovetail.ones(4, device="meta"))
    assert (result.shape, result.device.type) == ((3, 4), "meta")


def test_the_registrations_of_an_operator_fit_together(operator):
    x = dovetail.rand(3, 4, requires_grad=True)
    parameter = dovetail.tensor(1.5, requires_grad=True)
    assert set(dovetail.library.opcheck(operator, (x, parameter)).values()) == {"SUCCESS"}


def test_a_custom_op_without_its_cpu_kernel_gives_the_same():
    x, a = dovetail.linspace(-3, 3, 13), dovetail.tensor(1.5)
    expected = dovetail.ops.activations_custom.snake(x, a)
    from dovetail_activations import custom_operators

    with custom_operators.snake.set_kernel_enabled("cpu", enabled=False):
        np.testing.assert_allclose(
            custom_operators.snake(x, a).cpu().numpy(), expected.cpu().numpy(), rtol=1e-6
        )


def test_asking_for_a_kernel_loads_the_library():
    program = "import dovetail; print(dovetail.library.get_kernel('activations::snake', 'CPU'))"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert "activations" in printed


@pytest.mark.parametrize("module", [Squareplus, Snake])
def test_the_parameter_of_a_module_learns(module):
    activation = module()
    (parameter,) = activation.parameters()
    before = parameter.item()
    optimizer = dovetail.optim.SGD(activation.parameters(), lr=0.1)
    activation(dovetail.tensor([0.3, -0.4, 1.2])).sum().backward()
    optimizer.step()
    assert parameter.item() != before


def test_a_zero_frequency_is_refused():
    with pytest.raises(ValueError, match="a must not be zero"):
        Snake(0.0)


def test_a_negative_bend_is_refused():
    with pytest.raises(ValueError, match="b must not be negative"):
        Squareplus(-1.0)


@pytest.mark.skipif(not dovetail.cuda.is_available(), reason="needs a CUDA device and CuPy")
def test_the_cuda_kernel_of_snake_agrees_with_the_cpu():
    x, a = dovetail.linspace(-3, 3, 1000, device="cpu"), dovetail.tensor(1.7, device="cpu")
    on_cpu = dovetail.ops.activations.snake(x, a)
    on_cuda = dovetail.ops.activations.snake(x.to("cuda"), a.to("cuda"))
    np.testing.assert_allclose(on_cuda.cpu().numpy(), on_cpu.cpu().numpy(), rtol=1e-5, atol=1e-6)
