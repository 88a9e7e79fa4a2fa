"""The names of ``torch._C`` that look at the operator table and at the state of dispatch."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator

import pytest

from dovetail_dispatcher import _C as C
from dovetail_dispatcher import Library, dispatch_table, fallthrough_kernel, ops
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey, DispatchKeySet, TensorBase, set_state, state

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


@pytest.fixture
def lib(library: Libraries) -> Library:
    made = library("dd", "DEF")
    made.define("f(Tensor x) -> Tensor")
    for key in ("CPU", "CompositeImplicitAutograd", "Autograd"):
        made.impl("f", lambda x: x, key)
    return made


@pytest.fixture(autouse=True)
def _same_state() -> Iterator[None]:
    before = state()
    yield
    set_state(before)


# -- dumps -----------------------------------------------------------------------------------------


def test_a_dump_has_the_schema_and_a_line_per_registration(lib: Library) -> None:
    lib.impl("f", lambda x: x, "CPU")
    lines = C._dispatch_dump("dd::f").splitlines()
    assert lines[:2] == ["name: dd::f", "schema: dd::f(Tensor x) -> Tensor"]
    assert re.fullmatch(r"debug: registered at .*\.py:\d+", lines[2])
    assert lines[3] == "alias analysis kind: FROM_SCHEMA"
    assert [line.split(": registered at")[0] for line in lines[4:]] == [
        "CPU",
        "CPU (inactive)",
        "Autograd[alias]",
        "CompositeImplicitAutograd[alias]",
    ]


def test_a_dump_of_an_unknown_operator_is_empty() -> None:
    assert (C._dispatch_dump("dd::nope"), C._dispatch_dump_table("dd::nope")) == ("", "")


def test_a_table_as_text_has_one_line_for_neighbours_with_one_kernel(lib: Library) -> None:
    table = dispatch_table("dd::f")
    lines = table.as_text().splitlines()
    shown = [key for line in lines for key in line.partition(": ")[0].split(", ")]
    assert shown == [row.key.name for row in table if row.tag != "missing"]
    rests = [line.partition(": ")[2] for line in lines]
    assert all([one != other for one, other in itertools.pairwise(rests)])
    assert len(lines) < len(shown)
    html = table._repr_html_()
    assert "dd::f" in html
    assert all([line.partition(",")[0].partition(":")[0] in html for line in lines])


def test_a_table_as_data_has_a_row_per_key_with_what_is_known_of_its_kernel(lib: Library) -> None:
    data = json.loads(dispatch_table("dd::f").as_json())
    rows = {row["key"]: row for row in data["table"]}
    assert data["operator"] == "dd::f"
    assert (rows["CPU"]["rule"], rows["CPU"]["convention"], rows["CPU"]["registered_for"]) == (
        "kernel",
        "tensor",
        "CPU",
    )
    assert re.search(r"test_dumps_and_queries\.py:\d+$", rows["CPU"]["source"])
    assert rows["AutogradXLA"]["registered_for"] == "CompositeImplicitAutograd"
    assert rows["Undefined"]["key"] == "Undefined"


def test_a_table_dump_has_the_rule_of_every_key(lib: Library) -> None:
    table = dict(line.split(": ", 1) for line in C._dispatch_dump_table("dd::f").splitlines())
    tags = {key: text.rpartition("[")[2].rstrip("]") for key, text in table.items()}
    assert [tags[key] for key in ("Undefined", "CPU", "CUDA", "AutogradCPU")] == [
        "math kernel",
        "kernel",
        "math kernel",
        "autograd kernel",
    ]
    assert table["ADInplaceOrView"].startswith("fallthrough registered at")


def test_kernels_without_definition_are_dangling(library: Libraries) -> None:
    library("dd", "IMPL").impl("g", lambda x: x, "CPU")
    (dump,) = C._dispatch_find_dangling_impls()
    assert dump.startswith("name: dd::g\nschema: (none)\nCPU: registered at ")


def test_all_operator_names_are_listed_with_overload(lib: Library) -> None:
    lib.define("f.ov(Tensor x) -> Tensor")
    names = [name for name in C._dispatch_get_all_op_names() if name.startswith("dd::")]
    assert names == ["dd::f", "dd::f.ov"]
    assert "dd::f" in C._dispatch_get_registrations_for_dispatch_key("CPU")
    assert "dd::f.ov" not in C._dispatch_get_registrations_for_dispatch_key("CPU")


def test_invariants_hold_and_a_broken_one_is_found(lib: Library, tensor: Tensors) -> None:
    ops.dd.f(tensor())
    C._dispatch_check_invariants("dd::f")
    C._dispatch_check_all_invariants()
    C._dispatch_check_invariants("dd::nope")
    operator = registry.find("dd::f")
    assert operator is not None
    operator.kernels[DispatchKey.CUDA] = []
    with pytest.raises(
        RuntimeError,
        match="INTERNAL ASSERT FAILED: operator dd::f: its stack of kernels at CUDA is empty",
    ):
        C._dispatch_check_invariants("dd::f")
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT FAILED"):
        C._dispatch_check_all_invariants()
    del operator.kernels[DispatchKey.CUDA]


# -- queries ---------------------------------------------------------------------------------------


def test_direct_registrations_and_computed_kernels_are_told_apart(lib: Library) -> None:
    assert C._dispatch_has_kernel_for_dispatch_key("dd::f", "Autograd")
    assert not C._dispatch_has_kernel_for_dispatch_key("dd::f", "AutogradCPU")
    assert C._dispatch_has_computed_kernel_for_dispatch_key("dd::f", "AutogradCPU")
    lib.define("g(Tensor x) -> Tensor")
    assert not C._dispatch_has_computed_kernel_for_dispatch_key("dd::g", "CPU")


def test_some_kernel_of_several_keys(lib: Library) -> None:
    keys = DispatchKeySet.of(DispatchKey.CUDA, DispatchKey.CPU)
    assert C._dispatch_has_kernel_for_any_dispatch_key("dd::f", keys)
    assert not C._dispatch_has_kernel_for_any_dispatch_key(
        "dd::f", DispatchKeySet(DispatchKey.CUDA)
    )


def test_an_operator_with_kernels_alone_counts_as_there(library: Libraries) -> None:
    library("dd", "IMPL").impl("g", lambda x: x, "CPU")
    assert [C._dispatch_has_kernel(name) for name in ("dd::g", "dd::h")] == [True, False]


@pytest.mark.parametrize(
    "query",
    [
        lambda: C._dispatch_has_kernel_for_dispatch_key("nope::x", "CPU"),
        lambda: C._dispatch_has_computed_kernel_for_dispatch_key("nope::x", "CPU"),
        lambda: C._dispatch_has_kernel_for_any_dispatch_key(
            "nope::x", DispatchKeySet(DispatchKey.CPU)
        ),
    ],
)
def test_a_question_about_an_unknown_operator_is_an_error(query: Callable[[], object]) -> None:
    with pytest.raises(RuntimeError, match="operator nope::x does not exist"):
        query()


def test_alias_keys_have_no_computed_kernel(lib: Library) -> None:
    with pytest.raises(
        RuntimeError, match=r"Alias keys do not have runtime kernel registrations\."
    ):
        C._dispatch_has_computed_kernel_for_dispatch_key("dd::f", "Autograd")


def test_backend_fallbacks_are_known(library: Libraries) -> None:
    keys = (DispatchKey.CPU, DispatchKey.AutogradCPU, "ADInplaceOrView")
    assert [C._dispatch_has_backend_fallback(key) for key in keys] == [False, True, True]
    library("_", "IMPL").fallback(lambda op, *args: None, "CPU")
    assert C._dispatch_has_backend_fallback("CPU")


def test_a_fallthrough_is_known(lib: Library) -> None:
    lib.impl("f", fallthrough_kernel, "AutogradOther")
    assert C._dispatch_kernel_for_dispatch_key_is_fallthrough("dd::f", "AutogradOther")
    assert not C._dispatch_kernel_for_dispatch_key_is_fallthrough("dd::f", "CPU")


def test_whether_a_kernel_falls_through_is_asked_of_keys_with_a_kernel_of_their_own(
    lib: Library,
) -> None:
    with pytest.raises(RuntimeError, match="no kernel for ADInplaceOrView on dd::f"):
        C._dispatch_kernel_for_dispatch_key_is_fallthrough("dd::f", "ADInplaceOrView")
    with pytest.raises(RuntimeError, match="no kernel for AutogradCPU on dd::f"):
        C._dispatch_kernel_for_dispatch_key_is_fallthrough("dd::f", "AutogradCPU")


def test_a_handle_has_the_schema_the_place_and_the_call(lib: Library, tensor: Tensors) -> None:
    handle = C._dispatch_find_schema_or_throw("dd::f", "")
    x = tensor()
    assert str(handle.schema()) == "dd::f(Tensor x) -> Tensor"
    assert re.fullmatch(r"registered at .*\.py:\d+", handle.debug())
    assert C._dispatch_call_boxed(handle, x) is x
    assert handle.redispatch_boxed(DispatchKeySet(DispatchKey.CPU), x) is x


def test_a_handle_of_what_is_not_defined_is_an_error_that_says_what_is_there(
    library: Libraries,
) -> None:
    library("dd", "IMPL").impl("g", lambda x: x, "CPU")
    with pytest.raises(
        RuntimeError,
        match=r"Could not find schema for dd::g. but we found an implementation; did you forget",
    ):
        C._dispatch_find_schema_or_throw("dd::g", "")
    with pytest.raises(RuntimeError, match=r"Could not find schema for dd::zz\."):
        C._dispatch_find_schema_or_throw("dd::zz", "")


def test_the_keys_of_a_tensor(tensor: Tensors) -> None:
    assert (
        repr(C._dispatch_keys(tensor()))
        == "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    )
    assert (
        repr(C._dispatch_keys(tensor(device="meta")))
        == "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
    )


# -- keys and state --------------------------------------------------------------------------------


def test_keys_by_name_and_device() -> None:
    assert C._dispatch_key_parse("CPU") is DispatchKey.CPU
    assert (C._parse_dispatch_key("CPU"), C._parse_dispatch_key("Foo")) == (DispatchKey.CPU, None)
    assert (C._dispatch_key_name(DispatchKey.CPU), C._dispatch_key_for_device("cuda")) == (
        "CPU",
        "CUDA",
    )
    with pytest.raises(
        RuntimeError,
        match=r"Expected one of cpu, cuda.* device type at start of device string: foo",
    ):
        C._dispatch_key_for_device("foo")


def test_the_default_included_and_excluded_keys() -> None:
    assert (
        repr(C._dispatch_tls_local_include_set())
        == "DispatchKeySet(BackendSelect, ADInplaceOrView)"
    )
    assert all(key.name.startswith("Autocast") for key in C._dispatch_tls_local_exclude_set())
    assert C._dispatch_tls_is_dispatch_key_included(DispatchKey.BackendSelect)
    assert not C._dispatch_tls_is_dispatch_key_excluded(DispatchKey.CPU)


def test_an_excluded_key_is_out_of_every_call_until_it_is_put_back(
    lib: Library, tensor: Tensors
) -> None:
    lib.define("g(Tensor x) -> str")
    lib.impl("g", lambda x: "autograd", "Autograd")
    lib.impl("g", lambda x: "cpu", "CPU")
    C._dispatch_tls_set_dispatch_key_excluded(DispatchKey.AutogradCPU, True)
    assert ops.dd.g(tensor()) == "cpu"
    C._dispatch_tls_set_dispatch_key_excluded(DispatchKey.AutogradCPU, False)
    assert ops.dd.g(tensor()) == "autograd"


def test_an_included_key_is_in_every_call(lib: Library, tensor: Tensors) -> None:
    lib.define("g(Tensor x) -> str")
    lib.impl("g", lambda x: "tracer", "Tracer")
    lib.impl("g", lambda x: "cpu", "CPU")
    C._dispatch_tls_set_dispatch_key_included(DispatchKey.Tracer, True)
    assert ops.dd.g(tensor()) == "tracer"
    C._dispatch_tls_set_dispatch_key_included(DispatchKey.Tracer, False)
    assert ops.dd.g(tensor()) == "cpu"


@pytest.mark.parametrize("key", ["Meta", "CUDA", "AutogradMeta", "SparseMeta"])
def test_a_key_of_a_backend_that_was_included_for_a_while_leaves_nothing(
    lib: Library, tensor: Tensors, key: str
) -> None:
    lib.define("g(Tensor x) -> str")
    lib.impl("g", lambda x: "cpu", "CPU")
    before = C._dispatch_tls_local_include_set().raw_repr()
    C._dispatch_tls_set_dispatch_key_included(key, True)
    C._dispatch_tls_set_dispatch_key_included(key, False)
    assert C._dispatch_tls_local_include_set().raw_repr() == before
    assert ops.dd.g(tensor()) == "cpu"


def test_guards_hold_inside_their_block_only(lib: Library, tensor: Tensors) -> None:
    lib.define("g(Tensor x) -> str")
    lib.impl("g", lambda x: "autograd", "Autograd")
    lib.impl("g", lambda x: "cpu", "CPU")
    with pytest.raises(ZeroDivisionError), C._AutoDispatchBelowAutograd():
        assert ops.dd.g(tensor()) == "cpu"
        1 / 0  # noqa: B018
    assert ops.dd.g(tensor()) == "autograd"
    with C._ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.AutogradCPU)):
        assert ops.dd.g(tensor()) == "cpu"


def test_every_public_name_is_there() -> None:
    assert all(hasattr(C, name) for name in C.__all__)
