"""``_C`` has the objects that ``torch._C`` has, and they hold the functions of the operators."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import torch

import dovetail

C: Any = dovetail._C
LIBRARIES = (dovetail, torch)
MODULES = ("_nn", "_linalg", "_fft", "_special")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_operators_has_names_of_pytorch_alone(name: str) -> None:
    ours, theirs = getattr(C, name), getattr(torch._C, name)
    assert ours.__name__ == theirs.__name__.replace("torch", "dovetail")
    assert import_module(f"dovetail._C.{name}") is ours
    for each in ours.__all__:
        assert hasattr(theirs, each) or hasattr(torch._C._VariableFunctions, each), each
        assert getattr(ours, each).__name__ == each
    assert set(ours.__all__) <= set(dir(ours))


@pytest.mark.parametrize("name", [*MODULES, "_VariableFunctions"])
def test_operators_are_where_pytorch_has_them(name: str) -> None:
    names = [each.partition("::")[2] for each in C._dispatch_get_all_op_names() if "aten::" in each]
    declared = {each.partition(".")[0] for each in names}
    theirs = {each for each in dir(getattr(torch._C, name)) if each in declared}
    assert [each for each in sorted(theirs) if not hasattr(getattr(C, name), each)] == []


def test_functions_at_the_top_are_those_of_variable_functions() -> None:
    names = [name for name in dir(C._VariableFunctions) if name[0] != "_"]
    assert len(names) > 200
    # dovetail.trace() without arguments still takes its former name, a recording of calls.
    for name in {*names} - {"trace"}:
        assert getattr(C._VariableFunctions, name) is getattr(dovetail, name), name
    for lib in LIBRARIES:
        assert lib._C._VariableFunctions.add is lib.add
        assert isinstance(lib._C._VariableFunctions, lib._C._VariableFunctionsClass)
        assert not hasattr(lib._C._VariableFunctions, "gelu")
        assert lib._C._nn.gelu is lib.nn.functional.gelu
        with pytest.raises(AttributeError, match="has no attribute 'nope'"):
            lib._C._VariableFunctions.nope  # noqa: B018
        with pytest.raises(AttributeError, match=r"module '\w+._C._nn' has no attribute 'nope'"):
            lib._C._nn.nope  # noqa: B018


def settings_of_scripts(lib: Any) -> list[Any]:
    """Set what old programs set of TorchScript, and set it back."""
    found = []
    for name in ("profiling_executor", "profiling_mode"):
        switch = getattr(lib._C, f"_jit_set_{name}")
        found += [switch(False), switch(False), switch(True), switch(True)]
    read, write = lib._C._jit_can_fuse_on_cpu, lib._C._jit_override_can_fuse_on_cpu
    found += [read(), write(True), read(), write(False), read()]
    found += [lib._C._jit_override_can_fuse_on_gpu(False)]
    fuse, is_fused = lib._C._jit_set_texpr_fuser_enabled, lib._C._jit_texpr_fuser_enabled
    return [*found, is_fused(), fuse(False), is_fused(), fuse(True), is_fused()]


def test_settings_of_scripts_keep_their_values() -> None:
    ours, theirs = map(settings_of_scripts, LIBRARIES)
    assert ours == theirs


def test_private_functions_are_found_by_name() -> None:
    for lib in LIBRARIES:
        x = lib.ones(2)
        assert lib._C._VariableFunctions._softmax(x, 0, False).tolist() == [0.5, 0.5]


def test_the_base_of_tensors_has_their_methods() -> None:
    for lib in LIBRARIES:
        base, meta = lib._C._TensorBase, lib._C._TensorMeta
        assert base.add is lib.Tensor.add
        assert base in lib.Tensor.__mro__
        assert isinstance(lib.Tensor, meta)
        assert isinstance(lib.nn.Parameter(lib.ones(1)), base)
        assert not isinstance(1, base)


def test_nodes_are_instances_of_the_classes_of_their_names() -> None:
    for lib in LIBRARIES:
        functions = lib._C._functions
        x = lib.ones(2, requires_grad=True)
        y, z = x + 1, x * 2j
        assert isinstance(y.grad_fn, functions.AddBackward0)
        assert isinstance(z.grad_fn, functions.MulBackward0)
        assert not isinstance(y.grad_fn, functions.MulBackward0)
        assert isinstance(y.grad_fn.next_functions[0][0], functions.AccumulateGrad)
        assert not isinstance(y.grad_fn, functions.AccumulateGrad)
        assert {"AddBackward0", "MulBackward0", "CopySlices"} <= set(dir(functions))
        view = x.clone()
        view[0] = 3
        assert isinstance(view.grad_fn, functions.CopySlices)
        with pytest.raises(TypeError, match="cannot create 'AddBackward0' instances"):
            functions.AddBackward0()
        with pytest.raises(AttributeError, match="has no attribute 'NopeBackward0'"):
            functions.NopeBackward0  # noqa: B018


def test_names_of_nodes_are_those_of_pytorch_but_for_derivatives_of_derivatives() -> None:
    ours, theirs = ({n for n in dir(lib._C._functions) if n[0] != "_"} for lib in LIBRARIES)
    own = {name for name in ours - theirs if name[-1].isdigit()}
    assert len(ours & theirs) > 150
    # PyTorch composes derivatives of derivatives of other operators; rsample() of a Dirichlet
    # distribution, which PyTorch writes as a Function, is one operator, and so are the steps of an
    # LSTM, and padding with what an image has, of which PyTorch has nine, and norms of singular
    # values, which are functions of its decomposition there. A logical operator in
    # place has a gradient of 0, where PyTorch keeps that of the value before.
    named = {name for name in own if not name.endswith("BackwardBackward0")}
    logical = {f"Logical{name}Backward0" for name in ("And", "Not", "Or", "Xor")}
    assert named - logical == {
        *("BorderedBackward0", "LstmSequenceBackward0", "SampleDirichletBackward0"),
        *("LinalgSingularNormBackward0", "LinalgSingularNormGradientBackward0"),
        "LinalgLyapunovBackward0",
    }


def test_the_extension_is_initialised_with_one_argument() -> None:
    for lib in LIBRARIES:
        with pytest.raises(TypeError):
            lib._C._initExtension()
    assert C._initExtension("manager") is None


def test_every_name_of_c_is_one_of_pytorch() -> None:
    assert [name for name in C.__all__ if not hasattr(torch._C, name)] == ["_EngineBase"]
    assert torch._C._ImperativeEngine.__name__ == "_EngineBase"
