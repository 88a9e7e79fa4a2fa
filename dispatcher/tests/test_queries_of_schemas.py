"""Schemas, signatures, and keys that programs ask for by PyTorch's private names."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher._C import (
    _dispatch_get_backend_keyset_from_autograd,
    _dispatch_get_computed_kernel_for_dispatch_key,
    _dispatch_key_set,
    _dispatch_print_registrations_for_dispatch_key,
    _get_schema,
    _jit_get_all_schemas,
    _jit_get_schemas_for_operator,
    _meta_in_tls_dispatch_include,
    _set_meta_in_tls_dispatch_include,
)
from dovetail_dispatcher.schema import bind_of_function, parse_schema
from dovetail_dispatcher.testing import dtypes
from dovetail_kernel import DispatchKey, DispatchKeySet, TensorBase, backend, wrap

Tensors = Callable[..., TensorBase]


@pytest.fixture
def lib(library: Callable[..., Library]) -> Library:
    """An operator of two overloads."""
    lib = library("qs", "DEF")
    lib.define("f(Tensor x, int n=2) -> Tensor")
    lib.define("f.other(Tensor x, *, float? e=None) -> Tensor")
    lib.impl("f", lambda x, n=2: x, "CPU")
    return lib


def test_schemas_are_found_by_name(lib: Library) -> None:
    texts = [str(each) for each in _jit_get_schemas_for_operator("qs::f")]
    assert texts == [
        "qs::f(Tensor x, int n=2) -> Tensor",
        "qs::f.other(Tensor x, *, float? e=None) -> Tensor",
    ]
    assert str(_get_schema("qs::f", "other")) == texts[1]
    assert set(texts) <= {str(each) for each in _jit_get_all_schemas()}
    assert _jit_get_schemas_for_operator("qs::none") == []
    with pytest.raises(RuntimeError, match=r"'othr'\. Did you mean 'other'\? It has: '', 'other'"):
        _get_schema("qs::f", "othr")
    with pytest.raises(RuntimeError, match="It has: none"):
        _get_schema("qs::none", "")
    with pytest.raises(RuntimeError, match="all symbols must have a namespace"):
        _jit_get_schemas_for_operator("f")


def test_registrations_at_a_key_are_printed(
    lib: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    _dispatch_print_registrations_for_dispatch_key("CPU")
    _dispatch_print_registrations_for_dispatch_key()
    printed = capsys.readouterr().out.split()
    assert printed.count("qs::f") == 2
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Nope"):
        _dispatch_print_registrations_for_dispatch_key("Nope")


def test_the_kernel_of_a_key_is_found_and_called(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0])
    kernel = _dispatch_get_computed_kernel_for_dispatch_key("qs::f", "CPU")
    assert kernel.call_boxed(DispatchKeySet(DispatchKey.CPU), x) is x
    for name, key in (("qs::none", "CPU"), ("qs::f", "Nope"), ("qs::f", "Autograd")):
        with pytest.raises(RuntimeError):
            _dispatch_get_computed_kernel_for_dispatch_key(name, key)


def test_backends_of_a_key_of_autograd() -> None:
    found = _dispatch_get_backend_keyset_from_autograd
    assert list(found(DispatchKey.AutogradCPU)) == [DispatchKey.CPU]
    assert not found(DispatchKey.CPU)
    others = found(DispatchKey.AutogradOther)
    assert DispatchKey.FPGA in others and DispatchKey.CPU not in others


def test_keys_of_a_tensor_are_printed(tensor: Tensors) -> None:
    text = _dispatch_key_set(tensor([1.0]))
    assert text.startswith("DispatchKeySet(CPU") and "AutogradCPU" in text


def test_calls_of_a_task_go_to_meta_on_request() -> None:
    assert _meta_in_tls_dispatch_include() is False
    _set_meta_in_tls_dispatch_include(True)
    assert _meta_in_tls_dispatch_include() is True
    _set_meta_in_tls_dispatch_include(False)
    assert _meta_in_tls_dispatch_include() is False


# -- signatures ------------------------------------------------------------------------------------


def test_an_overload_has_the_signature_of_its_schema(lib: Library) -> None:
    own, other = inspect.signature(ops.qs.f.default), inspect.signature(ops.qs.f.other)
    assert str(own) == "(x, n=2)" and str(other) == "(x, *, e=None)"
    assert own.parameters["n"].default == 2
    assert str(own.replace(parameters=[])) == "()"
    assert own.return_annotation is inspect.Signature.empty
    assert str(pickle.loads(pickle.dumps(own))) == "(x, n=2)"


def test_a_packet_takes_the_calls_of_all_its_overloads(lib: Library) -> None:
    assert str(inspect.signature(ops.qs.f)) == "(x, n=2, *, e=None)"


def test_a_word_of_python_is_given_by_position_alone(library: Callable[..., Library]) -> None:
    lib = library("qw", "DEF")
    lib.define("f(Tensor x, int from, int to=3) -> Tensor")
    shown = inspect.signature(ops.qw.f.default)
    kinds = [each.kind for each in shown.parameters.values()]
    assert kinds[:2] == [inspect.Parameter.POSITIONAL_ONLY] * 2
    assert kinds[2] == inspect.Parameter.POSITIONAL_OR_KEYWORD


# -- numbers that functions take -------------------------------------------------------------------


def bound(type_text: str, value: Any) -> Any:
    """Return what a public function makes of a value."""
    return bind_of_function(parse_schema(f"t::f({type_text} x) -> ()"), (value,), {})[0]


def scalar(value: Any, dtype: str) -> TensorBase:
    """Return a tensor."""
    return wrap(np.array(value, dtype), backend("cpu"))


@pytest.mark.parametrize(
    ("type_text", "value", "expected"),
    [
        ("int", 3, 3),
        ("int", np.int8(3), 3),
        ("int[]", [1, 2], [1, 2]),
        ("int[2]", 3, [3, 3]),
        ("int[]", 3, [3]),
        ("int[2]", np.int64(4), [4, 4]),
        ("int[]", np.array(2), [2]),
        ("bool", True, True),
        ("bool", np.bool_(False), False),
        ("float", 2, 2.0),
        ("Scalar", np.float32(1.5), 1.5),
    ],
)
def test_a_function_takes_numbers(type_text: str, value: Any, expected: Any) -> None:
    assert bound(type_text, value) == expected


@pytest.mark.parametrize(
    ("type_text", "value"),
    [
        ("int", True),
        ("int", np.bool_(True)),
        ("int", 2.0),
        ("int", np.float64(2)),
        ("int", scalar(2.5, "float32")),
        ("int", scalar(True, "bool")),
        ("int", scalar([1], "int64")),
        ("int", scalar(1j, "complex64")),
        ("int[]", [True, 1]),
        ("int[]", [1, 2.0]),
        ("int[]", 1.5),
        ("int[]", True),
        ("int[]", scalar([1, 2], "int64")),
        ("int[]", np.array([1, 2])),
        ("int[2]", np.array([1])),
        ("bool", 1),
        ("bool", np.int64(1)),
        ("bool", scalar(True, "bool")),
        ("float", scalar([1.5], "float32")),
        ("ScalarType", 6),
        ("ScalarType", "float32"),
        ("Layout", 0),
        ("MemoryFormat", "contiguous_format"),
    ],
)
def test_a_function_refuses_what_stands_for_another_argument(type_text: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"argument 'x' \(position 1\) must be"):
        bound(type_text, value)


# -- sets of dtypes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(("floating_types", 2), ("integral_types", 5), ("complex_types", 2), ("all_types", 7)),
        *(("floating_and_complex_types", 4), ("all_types_and_complex", 9)),
    ],
)
def test_sets_of_dtypes_are_extended(name: str, count: int) -> None:
    from dovetail_kernel import bfloat16, float16, float32, int32

    plain = getattr(dtypes, name)()
    assert len(plain) == count
    assert (float32 in plain) is ("floating" in name or "all" in name)
    assert (int32 in plain) is ("integral" in name or "all" in name)
    if name != "complex_types":
        extended = getattr(dtypes, f"{name}_and")(float16, bfloat16)
        assert extended == plain | {float16, bfloat16}
