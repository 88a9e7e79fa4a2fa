"""Autocast: its switches, and kernels that cast what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import CustomOpDef, Library, ops, register_autocast
from dovetail_dispatcher.registration import (
    autocast_key,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    is_eligible,
    set_autocast_dtype,
    set_autocast_enabled,
    without_autocast,
)
from dovetail_dispatcher.registration.autocast import autocast
from dovetail_dispatcher.table import registry
from dovetail_kernel import (
    DispatchKey,
    TensorBase,
    backend,
    bfloat16,
    dispatch_state,
    float16,
    float32,
    float64,
    plugin_manager,
    wrap,
)

Tensors = Callable[..., TensorBase]


@pytest.fixture(autouse=True)
def off() -> Any:
    """Begin and end without autocast."""
    before = get_autocast_dtype("cpu"), is_autocast_enabled("cpu")
    assert before == (bfloat16, False)
    yield
    assert (get_autocast_dtype("cpu"), is_autocast_enabled("cpu")) == before


# -- switches --------------------------------------------------------------------------------------


def test_a_block_turns_autocast_on_for_one_device_type() -> None:
    with autocast("cpu", float16) as entered:
        assert entered.device == "cpu" and entered.fast_dtype is float16
        assert (is_autocast_enabled("cpu"), is_autocast_enabled("cuda")) == (True, False)
        assert get_autocast_dtype("cpu") is float16 and get_autocast_dtype("cuda") is float16
        assert DispatchKey.AutocastCPU not in dispatch_state().excluded
        with autocast("cpu", enabled=False):
            assert not is_autocast_enabled("cpu")
            assert get_autocast_dtype("cpu") is float16
        with autocast("cpu", bfloat16):
            assert get_autocast_dtype("cpu") is bfloat16
        assert is_autocast_enabled("cpu")
    with pytest.raises(KeyError), autocast("cpu"):
        raise KeyError


def test_a_function_runs_under_autocast_each_time() -> None:
    @autocast("cpu", float16)
    def read() -> Any:
        return is_autocast_enabled("cpu"), get_autocast_dtype("cpu")

    assert read() == read() == (True, float16)


def test_autocast_is_set_for_the_rest_of_a_task() -> None:
    with autocast("cpu"):  # brings back what is set here
        set_autocast_enabled("cpu", False)
        set_autocast_dtype("cpu", float16)
        assert (is_autocast_enabled("cpu"), get_autocast_dtype("cpu")) == (False, float16)
        set_autocast_enabled("cpu", True)
        assert is_autocast_enabled("cpu")


def test_a_dtype_that_is_no_lower_one_disables_autocast_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="the target dtype is not supported") as caught:
        block = autocast("cpu", float32)
    assert caught[0].filename == __file__
    with block:
        assert not is_autocast_enabled("cpu")
    with autocast("cpu", float32, enabled=False):
        assert not is_autocast_enabled("cpu")


def test_autocast_without_the_device_is_disabled_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dovetail_kernel import PluginError

    def fail(name: str) -> None:
        raise PluginError

    monkeypatch.setattr(plugin_manager, "load_backend", fail)
    with pytest.warns(UserWarning, match="CUDA is not available"), autocast("cuda"):
        assert not is_autocast_enabled("cuda")
    monkeypatch.setattr(plugin_manager, "load_backend", lambda name: None)
    with autocast("cuda"):
        assert is_autocast_enabled()


def test_device_types_have_autocast_or_say_so() -> None:
    assert is_autocast_available("cpu") and is_autocast_available("cuda")
    assert not is_autocast_available("meta") and not is_autocast_enabled("meta")
    assert autocast_key("cpu") is DispatchKey.AutocastCPU
    assert get_autocast_dtype("xpu") is float16
    with pytest.raises(RuntimeError, match=r"unsupported autocast device_type 'meta'.*cpu, cuda"):
        get_autocast_dtype("meta")
    with pytest.raises(RuntimeError, match="nowhere"):
        is_autocast_available("nowhere")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: autocast(3), ValueError, "Expected `device_type` of type `str`"),
        (lambda: set_autocast_enabled("cpu", 1), TypeError, "argument 'enabled' must be bool"),
        (lambda: set_autocast_dtype("cpu", "f"), TypeError, "argument 'dtype' must be dtype"),
        (lambda: autocast("cpu", enabled="no").__enter__(), TypeError, "'enabled' must be bool"),
        (lambda: autocast("cpu", "f", False).__enter__(), TypeError, "'dtype' must be dtype"),
    ],
)
def test_settings_that_cannot_be_are_refused(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# -- rules -----------------------------------------------------------------------------------------


@pytest.fixture
def seen(base: Library, library: Callable[..., Library]) -> list[Any]:
    """What reaches the kernels of the operators ``ac::f`` and ``ac::write``."""
    lib, reached = library("ac", "DEF"), list[Any]()

    def note(*args: Any, **kwargs: Any) -> Any:
        values = [*args, *kwargs.values()]
        flat = [each for v in values for each in (v if isinstance(v, (list, tuple)) else [v])]
        reached.append([each.dtype for each in flat if isinstance(each, TensorBase)])
        return args[0] if isinstance(args[0], TensorBase) else args[0][0]

    lib.define("f(Tensor x, Tensor[]? more=None, *, Tensor? y=None, int n=1) -> Tensor")
    lib.impl("f", note, "CPU")
    lib.define("write(Tensor(a!) x, Tensor y, *, Tensor(b!) out) -> (Tensor(a!), Tensor(b!))")
    lib.impl("write", lambda x, y, *, out: (note(x, y, out=out), out), "CPU")
    return reached


def test_a_rule_casts_what_may_be_cast(seen: list[Any], tensor: Tensors) -> None:
    register_autocast("ac::f", "cpu", float16)
    x, whole, double = tensor([1.0]), tensor([1], "int64"), tensor([1.0], "float64")
    ops.ac.f(x)
    with autocast("cpu"):
        result = ops.ac.f(x, [x, whole, double], y=x, n=2)
        ops.ac.f(tensor([1.0], "float16"))
    assert seen == [[float32], [float16, float16, whole.dtype, float64, float16], [float16]]
    assert result.dtype is float16 and result.array.tolist() == [1.0]


def test_what_is_written_is_not_cast(seen: list[Any], tensor: Tensors) -> None:
    register_autocast("ac::write", "cpu", float16)
    x, y, out = tensor([1.0]), tensor([1.0]), tensor([1.0])
    with autocast("cpu"):
        results = ops.ac.write(x, y, out=out)
    assert seen == [[float32, float16, float32]]
    assert results[0] is x and results[1] is out


def test_a_custom_op_has_its_rule(
    base: Library, make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    def f(x: TensorBase) -> TensorBase:
        dtypes.append(x.dtype)
        return wrap(x.array.copy(), backend("cpu"))

    dtypes: list[Any] = []
    op = make(f)
    register_autocast(op, "cpu", float16)
    op(tensor([1.0]))
    with autocast("cpu"):
        op(tensor([1.0]))
    assert dtypes == [float32, float16]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("ac::f", "meta", float16), ValueError, "'meta' does not support autocast"),
        (("ac::f", "cpu", "float16"), TypeError, "cast_inputs must be a dtype, but got str"),
        (("ac::none", "cpu", float16), AttributeError, "none"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(
    seen: list[Any], arguments: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        register_autocast(*arguments)


def test_floats_of_the_device_are_eligible(tensor: Tensors) -> None:
    def eligible(*given: Any) -> bool:
        return is_eligible(tensor(*given), "cpu")

    assert eligible([1.0]) and eligible([1.0], "float16")
    assert not (eligible([1.0], "float64") or eligible([1], "int64") or eligible([1j], "complex64"))
    assert not is_eligible(tensor([1.0]), "cuda") and not is_eligible(1.0, "cpu")
    assert not is_eligible(np.zeros(2), "cpu")


def test_an_operator_is_called_without_its_rule(seen: list[Any], tensor: Tensors) -> None:
    register_autocast("ac::f", "cpu", float16)
    op = registry.find("ac::f", "")
    assert op is not None
    with autocast("cpu"):
        without_autocast(op, "cpu", tensor([1.0]), n=2)
        assert is_autocast_enabled("cpu")
    assert seen == [[float32]]
