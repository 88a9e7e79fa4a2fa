"""`Library`: what may be registered, which errors say no and in which words, and what is left
afterwards.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from dovetail_dispatcher import Library, Tag, custom_op, fallthrough_kernel, ops, parse_schema
from dovetail_kernel import TensorBase

Libraries = Callable[..., Library]
Snapshot = Callable[[], tuple[Any, ...]]
Tensors = Callable[..., TensorBase]


def same(x: Any, *_args: Any, **_kwargs: Any) -> Any:
    return x


# -- kinds, namespaces and keys --------------------------------------------------------------------


def test_a_library_prints_its_kind_namespace_and_key(library: Libraries) -> None:
    assert repr(library("ll", "DEF")) == "Library(kind=DEF, ns=ll, dispatch_key=)>"
    assert repr(library("ll", "IMPL", "CPU")) == "Library(kind=IMPL, ns=ll, dispatch_key=CPU)>"


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        (("ll", "FOO"), ValueError, "Unsupported kind: FOO"),
        (("ll", "IMPLE"), ValueError, "Did you mean 'IMPL'"),
        (("prim", "DEF"), ValueError, "prim is a reserved namespace"),
        (("prim", "FRAGMENT"), ValueError, "prim is a reserved namespace"),
        (
            ("_", "FRAGMENT"),
            RuntimeError,
            "cannot define TORCH_LIBRARY_FRAGMENT with the wildcard namespace _",
        ),
        (("ll", "DEF", "CPU"), RuntimeError, "!dispatch_key_.has_value()"),
        (("ll", "IMPL", "Foo"), RuntimeError, "could not parse dispatch key: Foo"),
        (
            ("ll", "IMPL", "cpu"),
            RuntimeError,
            "could not parse dispatch key: cpu. Did you mean 'CPU'",
        ),
    ],
)
def test_a_wrong_library_is_refused(
    args: tuple[str, ...], error: type[Exception], words: str, snapshot: Snapshot
) -> None:
    before = snapshot()
    with pytest.raises(error, match=re.escape(words)):
        Library(*args)
    assert snapshot() == before


def test_a_namespace_has_one_DEF_library_and_the_error_names_both(library: Libraries) -> None:
    library("ll", "DEF")
    with pytest.raises(
        RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace ll"
    ) as e:
        Library("ll", "DEF")
    assert len(re.findall(r"registered at \S+\.py:\d+", str(e.value))) == 2


@pytest.mark.parametrize("word", ["tensor", "integer", "np.ndarray", "t[]", "tensor?", "Tensr"])
@pytest.mark.parametrize(
    "schema", ["f({} x) -> Tensor", "f(Tensor x) -> {}", "f(int k, {} x) -> int"]
)
def test_an_operator_of_an_unknown_type_is_refused(
    word: str, schema: str, library: Libraries, snapshot: Snapshot
) -> None:
    lib = library("ll", "DEF")
    before = snapshot()
    for _ in range(2):  # the second text is not one that was parsed before
        with pytest.raises(RuntimeError, match="unknown type specifier"):
            lib.define(schema.format(word))
        with pytest.raises(RuntimeError, match="unknown type specifier"):
            custom_op("ll::g", lambda x: x, mutates_args=(), schema=schema.format(word)[1:])
        assert snapshot() == before
        if word != "Tensr":
            parse_schema("ll::" + schema.format(word))  # where type variables may stand


def test_a_namespace_is_free_again_when_its_library_is_destroyed(library: Libraries) -> None:
    library("ll", "DEF")._destroy()
    library("ll", "DEF")


def test_an_IMPL_library_of_a_reserved_namespace_is_allowed(library: Libraries) -> None:
    assert library("prim", "IMPL").ns == "prim"


# -- define ----------------------------------------------------------------------------------------


def test_define_returns_the_name_as_written_without_overload(library: Libraries) -> None:
    lib = library("ll", "DEF")
    assert lib.define("f.one(Tensor x) -> Tensor") == "f"
    assert lib.define("ll::g(Tensor x) -> Tensor") == "ll::g"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            "f(Tensor x) -> Tensor",
            "Tried to register an operator (ll::f(Tensor x) -> Tensor) with the same name",
        ),
        (
            "other::h(Tensor x) -> Tensor",
            "Explicitly provided namespace (other) in schema string does not match",
        ),
        ("h(Tensor x) -> Tensr", "unknown type specifier"),
        ("h", "only the operator name was given"),
    ],
)
def test_a_wrong_definition_is_refused_and_leaves_no_trace(
    schema: str, words: str, library: Libraries, snapshot: Snapshot
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    before = snapshot()
    with pytest.raises(RuntimeError, match=re.escape(words)):
        lib.define(schema)
    assert snapshot() == before


def test_a_duplicate_definition_is_told_where_the_first_is(library: Libraries) -> None:
    library("ll", "DEF").define("f(Tensor x) -> Tensor")
    with pytest.raises(
        RuntimeError, match=r"Original registration: registered at .*test_library\.py:\d+|conftest"
    ):
        library("ll", "FRAGMENT").define("f(Tensor x) -> Tensor")


def test_an_IMPL_library_may_not_define(library: Libraries) -> None:
    with pytest.raises(
        RuntimeError,
        match=re.escape('def("h"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL'),
    ):
        library("ll", "IMPL").define("h(Tensor x) -> Tensor")


@pytest.mark.parametrize("analysis", ["", "FROM_SCHEMA", "CONSERVATIVE"])
def test_define_takes_an_alias_analysis(analysis: str, library: Libraries) -> None:
    assert library("ll", "DEF").define("f(Tensor x) -> Tensor", analysis) == "f"


def test_an_unknown_alias_analysis_is_refused(library: Libraries) -> None:
    with pytest.raises(RuntimeError, match="Invalid alias_analysis type FOO"):
        library("ll", "DEF").define("f(Tensor x) -> Tensor", "FOO")


def test_tags_are_kept_and_must_be_tags(library: Libraries) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor", tags=(Tag.pointwise, Tag.core))
    assert ops.ll.f.default.tags == [Tag.pointwise, Tag.core]
    with pytest.raises(TypeError, match="tags must be Tag"):
        lib.define("g(Tensor x) -> Tensor", tags="pointwise")  # type: ignore[arg-type]


# -- impl ------------------------------------------------------------------------------------------

KEYS = ("CPU", "Meta", "Autograd", "CompositeExplicitAutograd", "CompositeImplicitAutograd")


def test_the_key_of_a_kernel_is_the_librarys_then_the_implicit_composite(
    library: Libraries,
) -> None:
    library("ll", "DEF").define("f(Tensor x) -> Tensor")
    library("ll", "IMPL", "CPU").impl("f", same)
    library("ll", "IMPL").impl("f", same)
    assert ops.ll.f.default.has_kernel_for_dispatch_key("CPU")
    assert ops.ll.f.default.has_kernel_for_dispatch_key("CompositeImplicitAutograd")


@pytest.mark.parametrize("key", ["", "CPU", "Meta", "Autograd", "CompositeExplicitAutograd"])
def test_the_key_Undefined_is_no_key(library: Libraries, key: str) -> None:
    library("ll", "DEF").define("f(Tensor x) -> Tensor")
    library("ll", "IMPL", key).impl("f", same, "Undefined")
    meant = key or "CompositeImplicitAutograd"
    kernels = [name for name in KEYS if ops.ll.f.default.has_kernel_for_dispatch_key(name)]
    assert kernels == [meant]


@pytest.mark.parametrize("name", ["f.ov", "ll::f.ov"])
def test_impl_takes_the_name_with_overload_and_namespace(
    name: str, library: Libraries, tensor: Tensors
) -> None:
    lib = library("ll", "DEF")
    lib.define("f.ov(Tensor x) -> Tensor")
    lib.impl(name, same, "CPU")
    x = tensor()
    assert ops.ll.f(x) is x


def test_impl_takes_an_overload_object(library: Libraries, tensor: Tensors) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl(ops.ll.f.default, same, "CPU")
    x = tensor()
    assert ops.ll.f(x) is x


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        (("f", 3, "CPU"), TypeError, "Input function is required to be a callable"),
        (
            (3, same, "CPU"),
            RuntimeError,
            "impl should be passed either a name or an OpOverload object",
        ),
        (("f", same, "Foo"), RuntimeError, "could not parse dispatch key: Foo"),
        (
            ("aten::sin", same, "CPU"),
            RuntimeError,
            "Explicitly provided namespace (aten) in operator name does not match",
        ),
        (("zz", same, "Meta"), RuntimeError, "operator ll::zz does not exist"),
        (
            ("composite", same, "Meta"),
            RuntimeError,
            "We should not register a meta kernel directly to the operator",
        ),
    ],
)
def test_a_wrong_kernel_is_refused_and_leaves_no_trace(
    args: tuple[Any, ...],
    error: type[Exception],
    words: str,
    library: Libraries,
    snapshot: Snapshot,
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("composite(Tensor x) -> Tensor")
    lib.impl("composite", same)
    before = snapshot()
    with pytest.raises(error, match=re.escape(words)):
        lib.impl(*args)
    assert snapshot() == before


def test_a_kernel_for_another_key_than_the_librarys_is_refused(library: Libraries) -> None:
    library("ll", "DEF").define("f(Tensor x) -> Tensor")
    with pytest.raises(
        RuntimeError,
        match=re.escape("(CPU) is inconsistent with the dispatch key of the enclosing"),
    ):
        library("ll", "IMPL", "CUDA").impl("f", same, "CPU")


def test_allow_override_False_refuses_a_second_kernel_of_any_library(library: Libraries) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", same, "CPU")
    with pytest.raises(
        RuntimeError,
        match="already a kernel registered from python overriding f's behavior for CPU",
    ):
        library("ll", "IMPL").impl("f", same, "CPU", allow_override=False)


def test_allow_override_False_is_content_once_the_other_kernels_are_gone(
    library: Libraries,
) -> None:
    library("ll", "DEF").define("f(Tensor x) -> Tensor")
    first, second = library("ll", "IMPL"), library("ll", "IMPL")
    first.impl("f", same, "CPU")
    second.impl("f", same, "CPU")
    first._destroy()
    with pytest.raises(RuntimeError, match="This is not allowed"):
        library("ll", "IMPL").impl("f", same, "CPU", allow_override=False)
    second._destroy()
    library("ll", "IMPL").impl("f", same, "CPU", allow_override=False)


def test_the_newest_kernel_wins_and_uncovers_the_older_one_when_it_goes(
    library: Libraries, tensor: Tensors
) -> None:
    library("ll", "DEF").define("f(Tensor x) -> int")
    library("ll", "IMPL").impl("f", lambda x: 1, "CPU")
    newer = library("ll", "IMPL")
    newer.impl("f", lambda x: 2, "CPU")
    assert ops.ll.f(tensor()) == 2
    newer._destroy()
    assert ops.ll.f(tensor()) == 1


def test_removing_the_older_kernel_leaves_the_newer_in_force(
    library: Libraries, tensor: Tensors
) -> None:
    library("ll", "DEF").define("f(Tensor x) -> int")
    older = library("ll", "IMPL")
    older.impl("f", lambda x: 1, "CPU")
    library("ll", "IMPL").impl("f", lambda x: 2, "CPU")
    older._destroy()
    assert ops.ll.f(tensor()) == 2


@pytest.mark.usefixtures("once_warnings")
def test_an_override_is_reported_once_in_a_process(library: Libraries) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", same, "CPU")
    with pytest.warns(
        UserWarning, match="Overriding a previously registered kernel for the same operator"
    ):
        lib.impl("f", lambda x: x, "CPU")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.impl("f", same, "CPU")


@pytest.mark.usefixtures("once_warnings")
def test_overriding_a_meta_kernel_is_not_reported(library: Libraries) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.impl("f", same, "Meta")
        lib.impl("f", same, "Meta")


def test_a_kernel_may_come_before_its_definition(library: Libraries, tensor: Tensors) -> None:
    lib = library("ll", "DEF")
    lib.impl("f", same, "CPU")
    with pytest.raises(AttributeError, match="'_OpNamespace' 'll' object has no attribute 'f'"):
        ops.ll.f  # noqa: B018
    lib.define("f(Tensor x) -> Tensor")
    x = tensor()
    assert ops.ll.f(x) is x


def test_a_kernel_with_keyset_gets_the_keys_after_state_and_fallthrough(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> str")
    lib.impl("f", lambda keys, x: repr(keys), "CPU", with_keyset=True)
    assert ops.ll.f(tensor()) == "DispatchKeySet(CPU)"


def test_fallthrough_at_an_alias_key_passes_over_all_its_keys(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> str")
    lib.impl("f", fallthrough_kernel, "Autograd")
    lib.impl("f", lambda keys, x: repr(keys), "CPU", with_keyset=True)
    assert ops.ll.f(tensor()) == "DispatchKeySet(CPU)"


def test_the_fallthrough_kernel_is_never_to_be_called() -> None:
    with pytest.raises(NotImplementedError, match=r"fallthrough_kernel\(\) should never be called"):
        fallthrough_kernel()
