"""Names of PyTorch that packages import and that Dovetail has no use for: the import works, and
what is imported refuses when it is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import dovetail
from dovetail.names.refused_names import _NAMES

MODULES = [".".join(["dovetail", inside]).rstrip(".") for inside in _NAMES]


@pytest.mark.parametrize("module", MODULES)
def test_a_refused_name_is_imported_and_refuses_when_it_is_called(module: str) -> None:
    found = import_module(module)
    for name in _NAMES[module.partition(".")[2]].split():
        value = getattr(found, name)
        assert value is getattr(found, name)
        assert isinstance(value, type) is name[0].isupper()
        assert (value.__module__, value.__name__) == (module, name)
        with pytest.raises(NotImplementedError, match=f"{module}.{name} is not in Dovetail") as e:
            value(1, key=2)
        assert len(str(e.value)) > len(f"{module}.{name} is not in Dovetail. ")  # what to do


@pytest.mark.parametrize("module", MODULES)
def test_other_names_stay_absent(module: str) -> None:
    assert not hasattr(import_module(module), "nothing_of_this_name")
    with pytest.raises(ModuleNotFoundError):
        import_module(f"{module}.nothing_of_this_name")


def test_refused_exceptions_can_be_caught() -> None:
    from dovetail._dynamo.exc import TorchDynamoException  # type: ignore[import-not-found]

    try:
        raise ValueError("of the program")
    except TorchDynamoException:
        pytest.fail("no error is one of these")
    except ValueError:
        pass


def test_names_of_another_module_are_its_own() -> None:
    assert dovetail.TensorType is dovetail._C.TensorType  # type: ignore[attr-defined]
    module = import_module("dovetail._custom_ops")
    assert module.get_ctx is dovetail.library.get_ctx
    assert module.custom_op is dovetail.library.custom_op
    assert not hasattr(module, "nothing_of_this_name")
    operators = import_module("dovetail._ops")
    assert isinstance(dovetail.ops.aten.add.Tensor, operators.OpOverload)
    assert isinstance(dovetail.ops.aten.add, operators.OpOverloadPacket)
    assert not isinstance(dovetail.ops.aten.add, operators.HigherOrderOperator)
    storage = dovetail.ones(1).untyped_storage()
    assert isinstance(storage, dovetail.StorageBase)  # type: ignore[attr-defined]
    assert import_module("dovetail._guards").active_fake_mode() is None
    assert import_module("dovetail._functorch.vmap").Tensor is dovetail.Tensor


def test_no_value_is_of_a_refused_class() -> None:
    from dovetail._C import ScriptMethod  # type: ignore[attr-defined]

    assert not isinstance(dovetail.ones(1), ScriptMethod)


def test_a_refused_name_does_not_cover_one_of_ours() -> None:
    for module in MODULES:
        assert not set(_NAMES[module.partition(".")[2]].split()) & names_at_first(module)


def names_at_first(module: str) -> set[str]:
    """Return the names that a module lists itself; of one that is made for refused names, none."""
    listed: Any = getattr(import_module(module), "__all__", ())
    return set(listed)


def test_kernels_without_data_of_a_library_that_could_not_be_loaded_wait_for_it() -> None:
    @dovetail.library.register_fake("refused_names_waiting::double")
    def fake(x: Any) -> Any:
        return x.new_empty(x.shape)

    with dovetail.library._scoped_library("refused_names_waiting", "DEF") as library:
        library.define("double(Tensor x) -> Tensor")
        call = dovetail.ops.refused_names_waiting.double
        assert call(dovetail.ones(3, device="meta")).shape == (3,)
        with pytest.raises(RuntimeError, match="refused_names_waiting::dubble does not exist"):
            dovetail.library.register_fake("refused_names_waiting::dubble", fake)
