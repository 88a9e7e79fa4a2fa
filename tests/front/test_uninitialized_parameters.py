"""Parameters and buffers whose shapes are not known yet."""

import pytest

import dovetail
from dovetail import nn
from dovetail.nn.parameter import is_lazy


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
