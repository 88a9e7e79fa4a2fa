"""`ops`: namespaces, packets and overloads as objects, and the calls that go past the usual
dispatch.
"""

from __future__ import annotations

import copy
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dovetail_dispatcher import Library, OpOverload, OpOverloadPacket, ops, parse_schema
from dovetail_kernel import DispatchKey, DispatchKeySet, TensorBase

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


@pytest.fixture
def lib(library: Libraries) -> Library:
    made = library("oo", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.define("f.two(Tensor x, Tensor y) -> Tensor")
    made.impl("f", lambda x: x, "CPU")
    return made


def test_a_packet_prints_and_names_itself(lib: Library) -> None:
    packet = ops.oo.f
    assert isinstance(packet, OpOverloadPacket)
    assert (repr(packet), str(packet)) == ("<OpOverloadPacket(op='oo.f')>", "oo.f")
    assert (packet.__name__, packet._qualified_op_name) == ("f", "oo::f")
    assert packet.overloads() == ["default", "two"]
    assert packet.op_overloads() == [packet.default, packet.two]
    assert packet._schemas == {"": packet.default._schema, "two": packet.two._schema}


def test_an_overload_prints_and_names_itself(lib: Library) -> None:
    overload = ops.oo.f.two
    assert isinstance(overload, OpOverload)
    assert (repr(overload), str(overload)) == (
        "<OpOverload(op='oo.f', overload='two')>",
        "oo.f.two",
    )
    assert (overload.name(), overload._name, overload.__name__) == (
        "oo::f.two",
        "oo::f.two",
        "f.two",
    )
    assert (overload.namespace, overload._opname, overload._overloadname) == ("oo", "f", "two")
    assert overload._schema == parse_schema("oo::f.two(Tensor x, Tensor y) -> Tensor")
    assert overload.overloadpacket is ops.oo.f


def test_the_default_overload_has_no_suffix_in_its_name(lib: Library) -> None:
    overload = ops.oo.f.default
    assert (overload.name(), overload._overloadname, str(overload)) == (
        "oo::f",
        "default",
        "oo.f.default",
    )


def test_packets_and_overloads_are_unique_and_copying_gives_the_same(lib: Library) -> None:
    for op in (ops.oo.f, ops.oo.f.two):
        assert copy.deepcopy(op) is op
        assert copy.copy(op) is op
    assert ops.oo.f is ops.oo.f
    assert ops.oo.f.two is ops.oo.f.two
    assert len({ops.oo.f.two, ops.oo.f.two, ops.oo.f.default}) == 2


def test_an_overload_is_not_pickled(lib: Library) -> None:
    with pytest.raises(RuntimeError, match="is not pickleable"):
        pickle.dumps(ops.oo.f.two)


@pytest.mark.parametrize(
    ("schema", "is_view"),
    [
        ("(Tensor x) -> Tensor", False),
        ("(Tensor(a) x) -> Tensor(a)", True),
        ("(Tensor(a!) x) -> Tensor(a!)", False),
    ],
)
def test_is_view_means_aliased_and_not_written(schema: str, is_view: bool, lib: Library) -> None:
    lib.define(f"v{schema}")
    assert ops.oo.v.default.is_view is is_view


def test_a_late_overload_shows_up_in_the_packet_fetched_before(lib: Library) -> None:
    packet = ops.oo.f
    lib.define("f.late(Tensor x, int n) -> Tensor")
    assert packet.overloads() == ["default", "two", "late"]
    assert packet.late.name() == "oo::f.late"


@pytest.mark.parametrize(
    ("look_up", "words"),
    [
        (lambda: ops.oo.ff, "'_OpNamespace' 'oo' object has no attribute 'ff'. Did you mean 'f'?"),
        (
            lambda: ops.oo.f.tvo,
            "The underlying op of 'oo.f' has no overload name 'tvo'. Did you mean 'two'?",
        ),
        (lambda: ops.oo.f.__foo__, "'oo.f' can't have an overload name beginning with '__'"),
    ],
)
def test_what_is_not_there_is_an_AttributeError(
    look_up: Callable[[], object], words: str, lib: Library
) -> None:
    with pytest.raises(AttributeError, match=re.escape(words)):
        look_up()


def test_any_name_is_a_namespace() -> None:
    assert not hasattr(ops.no_such_namespace, "f")


def test_listing_a_namespace_gives_its_operators(lib: Library) -> None:
    lib.define("g(Tensor x) -> Tensor")
    assert dir(ops.oo) == ["f", "g"]


def test_an_overload_call_never_tries_other_overloads(lib: Library, tensor: Tensors) -> None:
    with pytest.raises(
        RuntimeError, match=r"oo::f\(\) expected at most 1 argument\(s\) but received 2"
    ):
        ops.oo.f.default(tensor(), tensor())


@pytest.mark.parametrize("given", [2, -3, 2**60 + 1, 2.5])
def test_a_whole_number_for_a_float_reaches_the_kernel_as_a_float(
    given: float, lib: Library, tensor: Tensors
) -> None:
    seen = []
    lib.define("scaled(Tensor x, float by, bool twice, Scalar s) -> Tensor")
    lib.impl("scaled", lambda x, by, twice, s: seen.append((by, twice, s)) or x, "CPU")
    ops.oo.scaled(tensor(), given, True, 3)
    assert seen == [(float(given), True, 3)]
    assert [type(each) for each in seen[0]] == [float, bool, int]


def test_a_packet_whose_overloads_all_refuse_gives_each_reason(lib: Library) -> None:
    with pytest.raises(
        RuntimeError, match="Overloaded torch operator invoked from Python failed to match"
    ) as error:
        ops.oo.f("a")
    assert "instead found type 'str'" in str(error.value)
    assert "missing value for argument 'y'" in str(error.value)


def test_a_kernel_can_be_called_by_its_key(lib: Library, tensor: Tensors) -> None:
    lib.impl("f.two", lambda x, y: y, "CompositeImplicitAutograd")
    x, y = tensor(), tensor()
    assert ops.oo.f.default._op_dk(DispatchKey.CPU, x) is x
    assert ops.oo.f.two._op_dk(DispatchKey.CompositeImplicitAutograd, x, y) is y


@pytest.mark.parametrize("key", [DispatchKey.CUDA, DispatchKey.CompositeExplicitAutograd])
def test_calling_by_a_key_without_kernel_is_an_error(
    key: DispatchKey, lib: Library, tensor: Tensors
) -> None:
    with pytest.raises(
        NotImplementedError, match=r"oo::f.*(CPU|only available for these backends: \[CPU)"
    ):
        ops.oo.f.default._op_dk(key, tensor())


def test_decompose_runs_the_implicit_composite_only(lib: Library, tensor: Tensors) -> None:
    x = tensor()
    assert ops.oo.f.default.decompose(x) is NotImplemented
    assert not ops.oo.f.default._can_decompose()
    lib.impl("f", lambda x: x, "CompositeImplicitAutograd")
    assert ops.oo.f.default.decompose(x) is x
    assert ops.oo.f.default._can_decompose()


def test_has_kernel_looks_at_direct_registrations_only(lib: Library) -> None:
    lib.impl("f", lambda x: x, "Autograd")
    overload = ops.oo.f.default
    assert overload.has_kernel_for_dispatch_key("Autograd")
    assert not overload.has_kernel_for_dispatch_key(DispatchKey.AutogradCPU)
    assert overload.has_kernel_for_any_dispatch_key(
        DispatchKeySet.of(DispatchKey.CUDA, DispatchKey.CPU)
    )
    assert not overload.has_kernel_for_any_dispatch_key(DispatchKeySet(DispatchKey.CUDA))


def test_redispatch_goes_below_the_kernel_that_calls_it(lib: Library, tensor: Tensors) -> None:
    seen = []

    def autograd(keys: DispatchKeySet, x: TensorBase) -> TensorBase:
        seen.append(repr(keys))
        return ops.oo.f.default.redispatch(keys.remove(DispatchKey.AutogradCPU), x)

    lib.impl("f", autograd, "AutogradCPU", with_keyset=True)
    x = tensor()
    assert ops.oo.f(x) is x
    assert seen == ["DispatchKeySet(CPU, AutogradCPU)"]


def test_a_kernel_that_calls_its_own_operator_without_a_guard_starts_from_the_top(
    lib: Library, tensor: Tensors
) -> None:
    lib.impl("f", ops.oo.f, "Autograd")
    with pytest.raises(RecursionError):
        ops.oo.f(tensor())


def test_the_highest_backend_of_mixed_arguments_gets_the_call(
    lib: Library, tensor: Tensors
) -> None:
    lib.define("where(Tensor x, Tensor y) -> str")
    lib.impl("where", lambda keys, x, y: f"cpu {keys}", "CPU", with_keyset=True)
    lib.impl("where", lambda keys, x, y: f"meta {keys}", "Meta", with_keyset=True)
    assert ops.oo.where(tensor(), tensor(device="meta")) == "meta DispatchKeySet(CPU, Meta)"


def test_a_missing_kernel_is_told_with_what_there_is_and_where(
    lib: Library, tensor: Tensors
) -> None:
    lib.define("cuda_only(Tensor x) -> Tensor")
    lib.impl("cuda_only", lambda x: x, "CUDA")
    with pytest.raises(NotImplementedError) as error:
        ops.oo.cuda_only(tensor())
    text = str(error.value)
    assert "Could not run 'oo::cuda_only' with arguments from the 'CPU' backend" in text
    assert "'oo::cuda_only' is only available for these backends: [CUDA]" in text
    assert re.search(r"CUDA: registered at .*\.py:\d+", text)
    assert "Library.impl('cuda_only', fn, 'CPU')" in text


def test_no_tensors_reach_composites_but_no_backend(lib: Library) -> None:
    lib.define("make(int n) -> int")
    lib.impl("make", lambda n: n, "CPU")
    with pytest.raises(
        NotImplementedError, match="There were no tensor arguments to this function"
    ):
        ops.oo.make(3)
    lib.impl("make", lambda n: n + 1, "CompositeExplicitAutograd")
    assert ops.oo.make(3) == 4


def test_a_BackendSelect_kernel_catches_calls_without_tensors(lib: Library) -> None:
    lib.define("make(int n) -> int")
    lib.impl("make", lambda n: n * 2, "BackendSelect")
    assert ops.oo.make(3) == 6


def test_a_packet_that_remembers_its_choice_forgets_it_with_every_change(
    lib: Library, tensor: Tensors
) -> None:
    lib.define("g.a(Tensor x) -> int")
    lib.define("g.b(Tensor x) -> int")
    lib.impl("g.a", lambda x: 1, "CPU")
    lib.impl("g.b", lambda x: 2, "CPU")
    x = tensor([1.0, 2.0])
    packet = ops.oo.g
    assert [packet(x), packet(x)] == [1, 1]
    lib._destroy()
    with pytest.raises(RuntimeError, match="has no overloads any more"):
        packet(x)


def test_a_packet_does_not_remember_what_depends_on_the_value(
    lib: Library, tensor: Tensors
) -> None:
    lib.define("g.a(int x) -> str")
    lib.define("g.b(Tensor x) -> str")
    lib.impl("g.a", lambda x: "int", "CompositeExplicitAutograd")
    lib.impl("g.b", lambda x: "tensor", "CPU")
    packet = ops.oo.g
    assert [packet(tensor(2.5)), packet(tensor([1.0, 2.0])), packet(tensor(2.5))] == [
        "int",
        "tensor",
        "int",
    ]


@pytest.mark.parametrize("declared", ["int[]", "SymInt[2]", "int[]?"])
def test_a_list_of_ints_takes_no_tensor_of_floats(
    lib: Library, tensor: Tensors, declared: str
) -> None:
    lib.define(f"ints({declared} x) -> int[]")
    lib.impl("ints", lambda x: [each + 1 for each in x], "CompositeExplicitAutograd")
    assert ops.oo.ints([tensor(3), 2]) == [4, 3]
    for floats in (tensor([1.0, 2.0]), [tensor(1.0), 2]):
        with pytest.raises(RuntimeError, match="argument 'x'"):
            ops.oo.ints(floats)


def test_redispatch_finds_a_kernel_registered_after_its_first_call(
    lib: Library, tensor: Tensors
) -> None:
    keys, x = DispatchKeySet(DispatchKey.CPU), tensor()
    assert ops.oo.f.default.redispatch(keys, x) is x
    lib.impl("f", lambda x: tensor([7.0]), "CPU")
    assert ops.oo.f.default.redispatch(keys, x=x).array.tolist() == [7.0]
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        ops.oo.f.default.redispatch(keys)


def test_modules_and_shared_libraries_can_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "module_with_operators.py").write_text("loaded = True")
    ops.import_module("module_with_operators")
    assert sys.modules.pop("module_with_operators").loaded
    with pytest.raises(OSError, match=r"Could not load this library: /nonexist\.so"):
        ops.load_library("/nonexist.so")
    assert ops.loaded_libraries == set()


def test_a_packet_takes_the_first_overload_that_fits_with_lax_casts(
    library: Libraries, tensor: Tensors
) -> None:
    # Trap 10.
    lib = library("trap", "DEF")
    for name, kind in (("i", "int"), ("t", "Tensor"), ("s", "Scalar")):
        lib.define(f"f.{name}({kind} x) -> str")
        lib.impl(f"f.{name}", lambda x, name=name: name, "CompositeExplicitAutograd")
    values = [1, True, tensor(2.5), tensor([1.0, 1.0]), None, 1.5, 1j]
    assert [ops.trap.f(value) for value in values] == list("iiittss")
    with pytest.raises(RuntimeError, match="failed to match any schema:\n"):
        ops.trap.f("a")
