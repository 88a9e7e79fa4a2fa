"""Names of old, which PyTorch still has, do what they do there."""

from __future__ import annotations

import pickle
import warnings
from collections import OrderedDict
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
import torch
from devices import cpu_only_where
from same_programs import Program, Programs, assert_same

import dovetail

LIBRARIES = (dovetail, torch)
programs = Programs()

# -- Tensor.new ------------------------------------------------------------------------------------

NEW: dict[str, Any] = {
    "nothing": lambda lib, x: x.new(),
    "a size": lambda lib, x: tuple(x.new(2, 3).shape),
    "a Size": lambda lib, x: tuple(x.new(x.shape).shape),
    "numbers": lambda lib, x: x.new([1.5, 2]),
    "an array": lambda lib, x: x.new(np.ones(2)),
    "a tensor": lambda lib, x: x.new(x).data_ptr() == x.data_ptr(),
    "a storage": lambda lib, x: x.new(x.untyped_storage()),
    "memory": lambda lib, x: x.new(x.untyped_storage()).data_ptr() == x.data_ptr(),
    "text": lambda lib, x: x.new("a"),
    "a number": lambda lib, x: x.new(1.5),
    "data by name": lambda lib, x: x.new(data=[1, 2]),
    "a size by name": lambda lib, x: tuple(x.new(size=(2,)).shape),
    "another device": lambda lib, x: x.new(2, device="meta"),
    "integers": lambda lib, x: x.long().new([1.5, 2]),
    "bools": lambda lib, x: x.bool().new([2, 0]),
    "on meta": lambda lib, x: lib.ones(2, device="meta").new(2).device.type,
    "on meta, of the cpu": lambda lib, x: lib.ones(2, device="meta").new(2, device="cpu"),
    "of a parameter": lambda lib, x: type(lib.nn.Parameter(x).new(2)) is lib.Tensor,
    "requires no grad": lambda lib, x: x.requires_grad_().new([1.0]).requires_grad,
}
for name, made in NEW.items():
    programs(f"new: {name}")(lambda lib, made=made: made(lib, lib.ones(2, 3)))
programs("Tensor of a storage")(lambda lib: lib.Tensor(lib.ones(3).untyped_storage()))

# -- x.real = , x.imag =  --------------------------------------------------------------------------

VALUES: dict[str, Any] = {
    "an int": lambda lib: 2,
    "a fraction": lambda lib: 1.5,
    "a bool": lambda lib: True,
    "a complex number": lambda lib: 1 + 2j,
    "a complex number without imaginary part": lambda lib: 3 + 0j,
    "text": lambda lib: "a",
    "a list": lambda lib: [1, 2],
    "None": lambda lib: None,
    "a tensor": lambda lib: lib.tensor([3.0, 4.0]),
    "integers": lambda lib: lib.tensor([3, 4]),
    "a tensor without dimensions": lambda lib: lib.tensor(4),
}


def assigned(lib: Any, part: str, value: Any, dtype: str = "complex64") -> Any:
    x = lib.ones(2, dtype=getattr(lib, dtype))
    setattr(x, part, value(lib))
    return lib.view_as_real(x) if x.is_complex() else x


for part in ("real", "imag"):
    for name, value in VALUES.items():
        programs(f"{part} = {name}")(lambda lib, part=part, value=value: assigned(lib, part, value))
    programs(f"{part} of real numbers = a number")(
        lambda lib, part=part: assigned(lib, part, lambda lib: 2, "float32")
    )


@programs("real = is recorded")
def _(lib: Any) -> Any:
    x = lib.tensor([1 + 2j, 3j], requires_grad=True)
    y = x * 2
    part = lib.tensor([5.0, 6.0], requires_grad=True)
    y.real = part
    lib.view_as_real(y).sum().backward()
    return lib.view_as_real(x.grad).tolist(), part.grad.tolist()


@programs("imag = of a leaf")
def _(lib: Any) -> Any:
    x = lib.ones(2, dtype=lib.complex64, requires_grad=True)
    x.imag = 1


@programs("real = counts a version")
def _(lib: Any) -> Any:
    x = lib.ones(2, dtype=lib.complex64)
    x.real = 3
    x.imag = 3
    return x._version


# -- volatile --------------------------------------------------------------------------------------


def warned(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message).replace("torch.", "dovetail.") for each in caught]


programs("volatile=True")(
    lambda lib: warned(lambda: lib.autograd.Variable(lib.ones(1), volatile=True))
)
programs("volatile=False")(
    lambda lib: warned(lambda: lib.autograd.Variable(lib.ones(1), volatile=False))
)
programs("volatile = ")(lambda lib: warned(lambda: setattr(lib.ones(1), "volatile", False)))
programs("volatile")(lambda lib: warned(lambda: lib.ones(1).volatile))

# -- _backward_hooks -------------------------------------------------------------------------------


@programs("_backward_hooks = a dict")
def _(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    hooks: Any = {}
    x._backward_hooks = hooks
    hooks[1] = lambda grad: grad * 3
    x.sum().backward()
    return x.grad.tolist(), x._backward_hooks is hooks


@programs("_backward_hooks = replaces what was registered")
def _(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 5)
    x._backward_hooks = OrderedDict({0: lambda grad: grad * 7})
    x.sum().backward()
    return x.grad.tolist()


@programs("register_hook after _backward_hooks =")
def _(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    x._backward_hooks = hooks = OrderedDict()
    handle = x.register_hook(lambda grad: grad * 4)
    count = len(hooks)
    x.sum().backward()
    handle.remove()
    return x.grad.tolist(), count, len(hooks)


@programs("_backward_hooks = None")
def _(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 4)
    x._backward_hooks = None
    x.sum().backward()
    return x.grad.tolist(), x._backward_hooks


@programs("_backward_hooks = before requires_grad_")
def _(lib: Any) -> Any:
    x = lib.ones(2)
    x._backward_hooks = {0: lambda grad: grad * 3}
    x.requires_grad_().sum().backward()
    return x.grad.tolist()


# -- handle_torch_function -------------------------------------------------------------------------

HANDLED: dict[str, Any] = {
    "a plain tensor": lambda handle, lib, x: handle(lib.add, (x,), x, x),
    "a function of one's own": lambda handle, lib, x: handle(lambda a: a * 2, (x,), x),
    "no tensor": lambda handle, lib, x: handle(lib.add, (1,), x, x),
    "nothing": lambda handle, lib, x: handle(lib.add, (), x, x),
    "a parameter": lambda handle, lib, x: handle(lib.add, (lib.nn.Parameter(x),), x, x),
}
for name, call in HANDLED.items():
    programs(f"handle_torch_function: {name}")(
        lambda lib, call=call: call(lib.overrides.handle_torch_function, lib, lib.ones(2))
    )

# -- typename --------------------------------------------------------------------------------------


@programs("typename")
def _(lib: Any) -> Any:
    x = lib.ones(1)
    values = [
        *(x, x.long(), x.to("meta"), lib.nn.Parameter(x), 1, 1.5, None, "a", [1], (), {}, int, len),
        *(lib.Tensor, lib.float32, lib.Size([1])),
    ]
    return [lib.typename(value).replace("torch.", "dovetail.") for value in values]


# -- optim -----------------------------------------------------------------------------------------


def restored(lib: Any, name: str) -> Any:
    made = getattr(lib.optim, name)([lib.ones(1, requires_grad=True)], lr=0.1)
    state = made.__getstate__()
    state["defaults"] = {}
    for group in state["param_groups"]:
        for key in [key for key in group if key not in ("params", "lr")]:
            del group[key]
    made.__setstate__(state)
    return {k: v for k, v in made.param_groups[0].items() if k != "params"}, made.defaults


for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
    programs(f"{name}.__setstate__")(lambda lib, name=name: restored(lib, name))


@programs("required")
def _(lib: Any) -> Any:
    required = import_module(f"{lib.__name__}.optim.optimizer").required

    class Own(lib.optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": required})

    x = lib.ones(1, requires_grad=True)
    given = Own([{"params": [x], "lr": 2}]).param_groups[0]["lr"]
    with pytest.raises(ValueError, match="didn't specify a value of required") as error:
        Own([x])
    return given, repr(required), str(error.value)[:76]


@pytest.mark.parametrize(
    "name",
    cpu_only_where(
        programs, lambda each: each == "Tensor of a storage", "Tensor is that of the cpu"
    ),
)
def test_a_name_of_old_does_what_it_does_in_pytorch(name: str) -> None:
    program: Program = programs[name]
    assert_same(program, words=25)


# -- where Dovetail differs ------------------------------------------------------------------------


def test_hooks_assigned_to_a_nonleaf_run_which_pytorch_forgets() -> None:
    gradients = []
    for lib in LIBRARIES:
        x = lib.ones(2, requires_grad=True)
        y = x * 1
        y._backward_hooks = {0: lambda grad: grad * 5}
        y.sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients == [[5.0, 5.0], [1.0, 1.0]]


def test_a_new_tensor_of_another_dtype_is_refused_with_the_dtypes() -> None:
    with pytest.raises(TypeError, match=r"expected a tensor of dtype float32 .got int64"):
        dovetail.ones(1).new(dovetail.ones(1, dtype=dovetail.int64))
    with pytest.raises(TypeError, match="expected TensorOptions"):
        torch.ones(1).new(torch.ones(1, dtype=torch.int64))


def test_assigning_a_part_asks_overrides_which_pytorch_does_not() -> None:
    seen: dict[Any, list[str]] = {dovetail.Tensor: [], torch.Tensor: []}
    for lib in LIBRARIES:

        class Noting(lib.Tensor):  # type: ignore[name-defined]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
                seen[cls.__base__].append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs)

        x = lib.ones(2, dtype=lib.complex64).as_subclass(Noting)
        x.real = 3
    assert seen == {dovetail.Tensor: ["__set__"], torch.Tensor: []}


def test_hooks_that_are_no_dict_are_refused() -> None:
    with pytest.raises(TypeError, match="_backward_hooks must be a dict of hooks or None, not int"):
        dovetail.ones(1)._backward_hooks = 3


# -- nn.modules ------------------------------------------------------------------------------------


PATHS = [
    each.name
    for each in iter_modules(torch.nn.modules.__path__)
    # Left out: functions of autograd and of a fused loss, which are PyTorch's own business.
    if each.name not in ("_functions", "linear_cross_entropy")
]

# Base classes by which programs ask what kind of layer one is.
BASES = """
batchnorm._BatchNorm batchnorm._LazyNormBase batchnorm._NormBase conv._ConvNd
conv._ConvTransposeNd dropout._DropoutNd instancenorm._InstanceNorm lazy.LazyModuleMixin
loss._Loss loss._WeightedLoss padding._CircularPadNd
padding._ConstantPadNd pooling._AdaptiveAvgPoolNd pooling._AdaptiveMaxPoolNd pooling._LPPoolNd
pooling._MaxPoolNd pooling._MaxUnpoolNd rnn.RNNBase rnn.RNNCellBase
"""


@pytest.mark.parametrize("base", BASES.split())
def test_a_base_class_has_the_layers_of_pytorch(base: str) -> None:
    path, _, name = base.partition(".")
    kinds = []
    for lib in LIBRARIES:
        kind = vars(import_module(f"{lib.__name__}.nn.modules.{path}"))[name]
        layers = [(each, getattr(lib.nn, each)) for each in torch.nn.modules.__all__]
        kinds.append(
            [each for each, layer in layers if isinstance(layer, type) and issubclass(layer, kind)]
        )
    assert kinds[0] == kinds[1] != []


@pytest.mark.parametrize("path", PATHS)
def test_every_path_has_the_layers_of_pytorch(path: str) -> None:
    theirs = import_module(f"torch.nn.modules.{path}")
    ours = import_module(f"dovetail.nn.modules.{path}")
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in ours.__all__:
        assert vars(ours)[name] is getattr(dovetail.nn, name, getattr(ours, name))


def test_layers_are_imported_by_the_paths_of_pytorch() -> None:
    from dovetail.nn.modules import Linear as from_all
    from dovetail.nn.modules.linear import Linear
    from dovetail.nn.modules.loss import CrossEntropyLoss, _Loss
    from dovetail.nn.modules.module import _IncompatibleKeys

    assert Linear is from_all is dovetail.nn.Linear
    assert issubclass(CrossEntropyLoss, _Loss)
    assert _IncompatibleKeys([], []).missing_keys == []
    assert sorted(dovetail.nn.modules.__all__) == sorted(torch.nn.modules.__all__)


def test_a_layer_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'dovetail.nn.modules.linear' has no attribute 'Li"):
        dovetail.nn.modules.linear.Lineal  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Conv9d'"):
        from dovetail.nn.modules.conv import Conv9d  # noqa: F401


def test_modules_are_pickled_by_their_own_path() -> None:
    layer = dovetail.nn.modules.linear.Linear(2, 1)
    assert type(pickle.loads(pickle.dumps(layer))) is dovetail.nn.Linear


FILLS: dict[str, Any] = {
    "_no_grad_uniform_": (2.9, 3.1),
    "_no_grad_normal_": (5.0, 0.1),
    "_no_grad_trunc_normal_": (5.0, 0.1, 4.9, 5.1),
    "_no_grad_fill_": (5.0,),
    "_no_grad_zero_": (),
}


@pytest.mark.parametrize("name", FILLS)
def test_a_fill_of_init_records_nothing(name: str) -> None:
    filled = []
    for lib in LIBRARIES:
        leaf = lib.ones(50, requires_grad=True)
        assert getattr(lib.nn.init, name)(leaf, *FILLS[name]) is leaf
        assert leaf.is_leaf
        filled.append(leaf.detach().cpu().numpy().round(0))
    assert np.array_equal(*filled)


UTILS: dict[str, Any] = {
    "_pair of a number": lambda u: u._pair(1),
    "_pair of three": lambda u: u._pair([1, 2, 3]),
    "_single": lambda u: (u._single(4), u._single.__name__),
    "_quadruple": lambda u: u._quadruple(4),
    "_reverse_repeat_tuple": lambda u: u._reverse_repeat_tuple((1, 2), 2),
    "_list_with_default": lambda u: u._list_with_default([None, 2], [5, 6, 7]),
    "_list_with_default of an int": lambda u: u._list_with_default(3, [5]),
    "_list_with_default of few": lambda u: u._list_with_default([None, 2], [5, 6]),
    "consume": lambda u: consumed(u, ["module.a", "b", "module.c"], "module.", []),
    "consume with metadata": lambda u: consumed(
        u, ["module.a", "b", "module."], "module.", ["", "module", "module.a", "x"]
    ),
}


def consumed(utils: Any, names: list[str], prefix: str, metadata: list[str]) -> Any:
    class State(OrderedDict):  # type: ignore[type-arg]
        pass

    state = State((name, number) for number, name in enumerate(names))
    if metadata:
        state._metadata = OrderedDict((name, number) for number, name in enumerate(metadata))
    utils.consume_prefix_in_state_dict_if_present(state, prefix)
    return list(state.items()), list(getattr(state, "_metadata", {}).items())


@pytest.mark.parametrize("name", UTILS)
def test_what_layers_are_written_with_gives_what_it_gives_in_pytorch(name: str) -> None:
    results = []
    for lib in LIBRARIES:
        utils = import_module(f"{lib.__name__}.nn.modules.utils")
        try:
            results.append(UTILS[name](utils))
        except ValueError as error:
            results.append(str(error))
    assert results[0] == results[1]
