"""Parameters and buffers whose shapes are not known yet."""

import subprocess
import sys

import pytest

import dovetail
from dovetail import nn
from dovetail.nn.parameter import is_lazy


def test_modules_alone_do_not_make_functions_look_for_overriding_classes() -> None:
    """Functions that are no operators cost more once a class overrides functions."""
    code = (
        "import dovetail, dovetail.nn, dovetail.optim\n"
        "before = dovetail.Tensor.__format__.__code__\n"
        "module = dovetail.nn.Linear(1, 1)\n"
        "module.load_state_dict(module.state_dict())\n"
        "plain = dovetail.Tensor.__format__.__code__\n"
        "dovetail.nn.UninitializedParameter\n"
        "print(before is plain, plain is dovetail.Tensor.__format__.__code__, plain.co_names)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("True False"), run.stdout
    assert "_ask_" not in run.stdout


def test_a_parameter_becomes_one_with_a_shape() -> None:
    parameter = nn.UninitializedParameter(dtype=dovetail.float64)
    parameter.materialize((2, 3))
    assert type(parameter) is nn.Parameter
    assert (parameter.shape, parameter.dtype) == ((2, 3), dovetail.float64)
    assert parameter.requires_grad
    assert not is_lazy(parameter)


def test_a_buffer_becomes_a_plain_one() -> None:
    buffer = nn.UninitializedBuffer(persistent=False)
    buffer.materialize((4,))
    assert type(buffer) is dovetail.Tensor
    assert isinstance(buffer, nn.Buffer)


def test_functions_say_what_to_do_first() -> None:
    with pytest.raises(ValueError, match=r"uninitialized parameter in <function add.*forward"):
        nn.UninitializedParameter() + 1
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        nn.UninitializedParameter().shape  # noqa: B018


def test_a_load_that_fails_takes_shapes_back() -> None:
    module, source = nn.Module(), nn.Module()
    module.w = nn.UninitializedParameter()
    module.v = nn.Parameter(dovetail.ones(2))
    source.w, source.v = nn.Parameter(dovetail.ones(3)), nn.Parameter(dovetail.ones(4))

    def give_shape(own, state, *rest):
        own.w.materialize(state["w"].shape)

    module.register_load_state_dict_pre_hook(give_shape)
    with pytest.raises(RuntimeError, match="size mismatch for v"):
        module.load_state_dict(source.state_dict())
    assert is_lazy(module.w)
    assert module.v.tolist() == [1, 1]
    source.v = nn.Parameter(dovetail.zeros(2))
    module.load_state_dict(source.state_dict())
    assert module.w.tolist() == [1, 1, 1]
