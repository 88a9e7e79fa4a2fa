"""Methods of ``nn.Module`` that programs use rarely."""

import copy
import warnings

import pytest

import dovetail
from dovetail import nn


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))


def test_a_submodule_is_replaced_by_its_dotted_name():
    model = net()
    model.set_submodule("1.0", nn.Tanh())
    assert isinstance(model[1][0], nn.Tanh)
    with pytest.raises(AttributeError, match="has no attribute `x`"):
        model.set_submodule("1.x", nn.Tanh(), strict=True)
    with pytest.raises(ValueError, match=r"is not an nn.Module, found"):
        model.set_submodule("1.0", 3)
    assert isinstance(model[1][0], nn.Tanh)


def test_tables_of_hooks_are_live():
    model, calls = net(), []
    handle = model.register_forward_hook(lambda *args: calls.append("own"))
    assert list(model._forward_hooks) == [handle.id]
    model._forward_hooks[-1] = lambda *args: calls.append("put in")
    model(dovetail.ones(1, 2))
    assert calls == ["own", "put in"]
    model._forward_hooks.clear()
    model(dovetail.ones(1, 2))
    assert len(calls) == 2


def test_hooks_can_be_set_aside_and_put_back():
    model, calls = net(), []
    model.register_forward_hook(lambda *args, **kwargs: calls.append(1), always_call=True)
    kept = dict(model._forward_hooks)
    model._forward_hooks = {}
    model(dovetail.ones(1, 2))
    model._forward_hooks = kept
    model(dovetail.ones(1, 2))
    assert calls == [1]


def test_images_of_a_module_are_laid_out_by_channels_last():
    conv = nn.Conv2d(2, 3, 3).to(memory_format=dovetail.channels_last)
    assert conv.weight.is_contiguous(memory_format=dovetail.channels_last)
    assert conv.bias.is_contiguous()


def test_a_state_dict_hook_of_old_may_return_another_one():
    model = net()
    model._register_state_dict_hook(lambda module, state, prefix, metadata: {"only": 1})
    assert model.state_dict() == {"only": 1}


def test_a_public_state_dict_hook_may_not():
    model = net()
    model.register_state_dict_post_hook(lambda module, state, prefix, metadata: {"only": 1})
    with pytest.raises(RuntimeError, match="post-hook must return None"):
        model.state_dict()


def test_arguments_reach_the_next_base_class_where_asked_for():
    class Named:
        def __init__(self, name):
            self.name = name

    class Model(nn.Module, Named):
        call_super_init = True

        def __init__(self, name):
            super().__init__(name)

    assert Model("x").name == "x"
    with pytest.raises(TypeError, match=r"unexpected argument 'y'.*call_super_init"):
        nn.Module(y=1)


def test_compile_returns_the_module():
    model = net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.compile(mode="default") is model


def test_copies_have_the_hooks_too():
    model, calls = net(), []
    model.register_forward_hook(lambda *args: calls.append(1))
    copy.deepcopy(model)(dovetail.ones(1, 2))
    assert calls == [1]


@pytest.mark.cpu_only(reason="processes share memory of the cpu, and not of every device")
def test_memory_of_a_module_is_shared():
    model = net().share_memory()
    assert all(parameter.is_shared() for parameter in model.parameters())
