"""Names, methods and signatures of ``nn.utils``, ``nn.init``, ``nn.Module`` and containers are
PyTorch's; exceptions have a reason.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, TypeVar

import pytest
import torch

import dovetail

MODULES = [
    "nn.attention",
    "nn.attention.bias",
    "nn.attention.flex_attention",
    "nn.init",
    "nn.parallel",
    "nn.parameter",
    "nn.utils",
    "nn.utils.clip_grad",
    "nn.utils.convert_parameters",
    "nn.utils.fusion",
    "nn.utils.init",
    "nn.utils.memory_format",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.utils.rnn",
    "nn.utils.spectral_norm",
    "nn.utils.stateless",
    "nn.utils.weight_norm",
]
CLASSES = [
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
]

ABSENT = {
    "nn.attention": {
        "chooses among kernels that are not here": (
            "activate_flash_attention_impl current_flash_attention_impl "
            "list_flash_attention_impls register_flash_attention_impl restore_flash_attention_impl"
        )
    },
    "nn.attention.flex_attention": {
        "is of use to flex_attention only, which is refused": ("AuxOutput FlexKernelOptions")
    },
    "nn.parallel": {
        "splits over several devices of a machine": (
            "DistributedDataParallelCPU parallel_apply replicate"
        )
    },
}
OTHER_SIGNATURES = {
    "nn.attention.SDPBackend": "is an enum of Python here",
    "nn.attention.flex_attention.flex_attention": "is refused with any arguments",
    "nn.attention.flex_attention.create_block_mask": "is refused with any arguments",
    "nn.attention.flex_attention.create_mask": "is refused with any arguments",
    "nn.parallel.DistributedDataParallel": "is refused with any arguments",
    "Sequential.pop": "has a default here, as that of lists",
    "ModuleList.pop": "has a default here, as that of lists",
    "Parameter.__repr__": "has the argument of Tensor.__repr__",
}
PRIVATE_STEPS = {
    "__slotnames__",  # which copying notes in a class
    "_compiled_call_impl",
    "_get_abs_string_index",
    "_get_backward_hooks",
    "_get_backward_pre_hooks",
    "_get_item_by_idx",
    "_key_to_attr",
    "_maybe_warn_non_full_backward_hook",
    "_replicate_for_data_parallel",
    "_slow_forward",
    "_wrapped_call_impl",
}
"""Steps of a call, or of an index, that are made otherwise here."""


def public_names(path: str) -> list[str]:
    """Return what PyTorch's module offers: its ``__all__``, and what it defines."""
    theirs = import_module(f"torch.{path}")
    defined = [
        name
        for name, value in vars(theirs).items()
        if not name.startswith("_")
        and not isinstance(value, TypeVar)
        and getattr(value, "__module__", None) == theirs.__name__
    ]
    return sorted({*getattr(theirs, "__all__", ()), *defined})


def module_of(library: str, path: str) -> Any:
    return import_module(f"{library}.{path}")


def arguments(function: Any) -> list[tuple[str, str]] | None:
    """Return names and defaults of arguments, or None for what has no signature."""
    if inspect.isclass(function) and issubclass(function, (torch.Tensor, dovetail.Tensor)):
        function = function.__new__
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    plain = (int, float, str, bool, type(None))
    return [
        (each.name, repr(each.default) if isinstance(each.default, plain) else "")
        for each in parameters
    ]


@pytest.mark.parametrize("path", MODULES)
def test_a_module_has_the_names_of_pytorch(path: str) -> None:
    ours = module_of("dovetail", path)
    missing = {name for name in public_names(path) if not hasattr(ours, name)}
    excused = {name for names in ABSENT.get(path, {}).values() for name in names.split()}
    assert missing == excused


@pytest.mark.parametrize("path", MODULES)
def test_functions_have_the_arguments_of_pytorch(path: str) -> None:
    ours, theirs = module_of("dovetail", path), module_of("torch", path)
    for name in public_names(path):
        function = getattr(theirs, name, None)
        if not callable(function) or not hasattr(ours, name):
            continue
        expected, found = arguments(function), arguments(getattr(ours, name))
        if f"{path}.{name}" in OTHER_SIGNATURES:
            assert found != expected, "no exception any more"
        # Names of old take anything there, and what their new names take here.
        elif expected is not None and [each[0] for each in expected] != ["args", "kwargs"]:
            assert found == expected, name


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_the_methods_of_pytorch(name: str) -> None:
    ours, theirs = getattr(dovetail.nn, name), getattr(torch.nn, name)
    names = vars(theirs) if name == "Parameter" else dir(theirs)
    # Its compiler puts names that begin with three underscores there once it is imported.
    expected = {each for each in names if not each.startswith("___")} - PRIVATE_STEPS
    assert not {each for each in expected if not hasattr(ours, each)}


@pytest.mark.parametrize("name", CLASSES)
def test_methods_have_the_arguments_of_pytorch(name: str) -> None:
    ours, theirs = getattr(dovetail.nn, name), getattr(torch.nn, name)
    for each in vars(theirs):
        function = getattr(theirs, each)
        if not inspect.isroutine(function) or each in PRIVATE_STEPS or each == "__torch_function__":
            continue
        expected, found = arguments(function), arguments(getattr(ours, each))
        is_of_any = each in ("forward", "__call__") and name != "Sequential"
        if f"{name}.{each}" in OTHER_SIGNATURES:
            assert found != expected, "no exception any more"
        elif not is_of_any and expected is not None:
            assert found == expected, each
