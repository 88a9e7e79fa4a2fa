"""`Library`, `custom_op` and dispatch, compared with PyTorch: the same program is run on both."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from itertools import combinations, count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import dovetail_dispatcher
from dovetail_dispatcher import _C as dovetail_C
from dovetail_kernel import (
    PluginError,
    TensorBase,
    backend,
    parse_dispatch_key,
    plugin_manager,
    wrap,
)

NUMBERS = count()
"""Numbers the namespaces: PyTorch crashes where an overload is defined again under a name that it
has forgotten.
"""

CIA, CEA, CEANF = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
NESTED, BATCHED = "CompositeImplicitAutogradNestedTensor", "FuncTorchBatchedDecomposition"


def dovetail_tensor(*values: float, device: str = "cpu") -> TensorBase:
    return wrap(np.array(values, "float32"), backend(device))


def torch_tensor(*values: float, device: str = "cpu") -> Any:
    return torch.tensor(values).to(device)


def sides() -> dict[str, Any]:
    """Return both libraries under the names that the programs below use."""
    return {
        "torch": SimpleNamespace(
            library=torch.library,
            custom_op=torch.library.custom_op,
            ops=torch.ops,
            C=torch._C,
            Tensor=torch.Tensor,
            tensor=torch_tensor,
        ),
        "dovetail": SimpleNamespace(
            library=dovetail_dispatcher,
            custom_op=dovetail_dispatcher.custom_op,
            ops=dovetail_dispatcher.ops,
            C=dovetail_C,
            Tensor=TensorBase,
            tensor=dovetail_tensor,
        ),
    }


@pytest.fixture(scope="module", autouse=True)
def _backend() -> None:
    try:
        plugin_manager.load_library("aten")
        plugin_manager.load_backend("cpu")
        plugin_manager.load_backend("meta")
    except PluginError as reason:
        pytest.skip(f"the CPU backend cannot be loaded: {reason}")


@pytest.fixture(autouse=True)
def _no_warning_of_overrides() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def outcome(program: Callable[[Any], Any], side: Any) -> tuple[str, Any]:
    """Run `program` and return its result in a form that both sides share, or the type and text of
    what it raised.
    """
    side.ns = f"cmp{next(NUMBERS)}"
    side.op = getattr(side.ops, side.ns)
    made: list[Any] = []

    def new_library(*args: Any) -> Any:
        made.append(side.library.Library(*args))
        return made[-1]

    side.L = new_library
    try:
        return "result", plain(program(side), side.ns)
    except Exception as error:
        return type(error).__name__, str(error).replace(side.ns, "cmp")
    finally:
        for library in reversed(made):
            library._destroy()


def plain(value: Any, ns: str) -> Any:
    """Return `value` in a form that both sides share, with `ns` called "cmp"."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, TensorBase):
        return value.array.tolist()
    if isinstance(value, list | tuple):
        return type(value)(plain(item, ns) for item in value)
    if isinstance(value, bool | int | float | complex | None):
        return value
    return str(value).replace(ns, "cmp")


# -- computed tables -------------------------------------------------------------------------------

KEYS = (
    "CPU",
    CIA,
    CEA,
    CEANF,
    "Autograd",
    NESTED,
    BATCHED,
    "SparseCPU",
    "QuantizedCPU",
    "NestedTensorCPU",
)


def tags(side: Any, registered: tuple[str, ...]) -> dict[str, str]:
    library = side.library.Library("cmp", "DEF")
    try:
        library.define("f(Tensor x) -> Tensor")
        for key in registered:
            library.impl("f", lambda x: x, key)
        lines = [line for line in side.C._dispatch_dump_table("cmp::f").splitlines() if line]
        return {line.split(": ", 1)[0]: line.rpartition("[")[2].rstrip("]") for line in lines}
    finally:
        library._destroy()


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_every_combination_of_registrations_computes_the_same_table(size: int) -> None:
    both = sides()
    for registered in combinations(KEYS, size):
        expected = tags(both["torch"], registered)
        actual = tags(both["dovetail"], registered)
        of_new_backends = {name for name in actual if is_of_new_backend(name)}
        assert {
            name: tag for name, tag in actual.items() if name not in of_new_backends
        } == expected, registered


def is_of_new_backend(key: str) -> bool:
    """Return whether `key` is of a backend that PyTorch has not, which another test may have
    added.
    """
    owner = parse_dispatch_key(key).backend
    return owner is not None and owner.component >= 1 << 64


def dumped(s: Any) -> list[str]:
    library = s.L(s.ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    for key in ("CPU", CIA, "Autograd", "CPU"):
        library.impl("f", lambda x: x, key)
    return [
        re.sub(r"registered at.*", "registered", line)
        for line in s.C._dispatch_dump(f"{s.ns}::f").splitlines()
        if line
    ]


def dangling(s: Any) -> Any:
    s.L(s.ns, "IMPL").impl("f", lambda x: x, "CPU")
    return [
        re.sub(r"registered at.*", "", text)
        for text in s.C._dispatch_find_dangling_impls()
        if f"{s.ns}::" in text
    ]


# -- programs --------------------------------------------------------------------------------------


def defined(s: Any, *schemas: str, fn: Any = None, key: str = "CPU") -> Any:
    """Define operators in namespace cmp, the first with a kernel, and return the library."""
    library = s.L(s.ns, "DEF")
    for schema in schemas:
        library.define(schema)
    if fn is not None:
        library.impl(re.split(r"[(.]", schemas[0])[0], fn, key)
    return library


def call(s: Any, schema: str, fn: Any, *args: Any, **kwargs: Any) -> Any:
    defined(s, schema, fn=fn)
    return s.op.f(s.tensor(1.0), *args, **kwargs)


def custom(s: Any, schema: str, fn: Any, **kwargs: Any) -> Any:
    return s.custom_op(f"{s.ns}::f", fn, **{"mutates_args": (), "schema": schema, **kwargs})


def keyed(s: Any, x: Any, with_meta: bool) -> Any:
    library = defined(s, "f(Tensor x, Tensor y) -> str")
    for key in ("CPU", "Meta"):
        library.impl("f", lambda keys, x, y, key=key: f"{key} {keys}", key, with_keyset=True)
    return s.op.f(s.tensor(1.0), s.tensor(1.0, device="meta" if with_meta else "cpu"))


def undo_and_look(s: Any) -> Any:
    defined(s, "f(Tensor x) -> Tensor")._destroy()
    return s.op.f


def overloads(s: Any, value: Any) -> Any:
    library = defined(s, "f.i(int x) -> str", "f.t(Tensor x) -> str", "f.s(Scalar x) -> str")
    for name in "its":
        library.impl(f"f.{name}", lambda x, name=name: name, CEA)
    return s.op.f(value(s))


def recursion(s: Any) -> Any:
    library = defined(s, "f(Tensor x) -> Tensor", fn=lambda x: x)
    library.impl("f", s.op.f, "Autograd")
    return s.op.f(s.tensor(1.0))


NAMED = "f(Tensor x, int n=1, *, float f=1.5) -> str"
SHOW = {"fn": lambda x, n=7, *, f=9.0: f"{n} {f}"}

RESULTS: dict[str, Callable[[Any], Any]] = {
    "dump": dumped,
    "dangling": dangling,
    "dump of nothing": lambda s: (
        s.C._dispatch_dump(f"{s.ns}::no"),
        s.C._dispatch_dump_table(f"{s.ns}::no"),
    ),
    "repr of a library": lambda s: repr(s.L(s.ns, "IMPL", "CPU")),
    "define returns": lambda s: s.L(s.ns, "DEF").define("f.o(Tensor x) -> Tensor"),
    "defaults stripped": lambda s: call(s, NAMED, SHOW["fn"]),
    "defaults stripped when given": lambda s: call(s, NAMED, SHOW["fn"], 1, f=1.5),
    "others passed": lambda s: call(s, NAMED, SHOW["fn"], 2, f=2),
    "cast of a bool": lambda s: call(s, NAMED, SHOW["fn"], True),
    "cast of a float tensor": lambda s: call(
        s, "f(Tensor x, int n) -> int", lambda x, n: n, s.tensor(2.5)
    ),
    "list from a scalar": lambda s: call(s, "f(Tensor x, int[2] n) -> int[]", lambda x, n: n, 3),
    "int return of a bool": lambda s: call(s, "f(Tensor x) -> int", lambda x: True),
    "tuple return": lambda s: call(s, "f(Tensor x) -> (int, str)", lambda x: [1, "a"]),
    "tensor list return": lambda s: call(s, "f(Tensor x) -> Tensor[]", lambda x: (x, x)),
    "keys of the kernel": lambda s: keyed(s, 1, False),
    "mixed backends": lambda s: keyed(s, 1, True),
    "overload int": lambda s: overloads(s, lambda s: True),
    "overload small tensor": lambda s: overloads(s, lambda s: s.tensor(2.5)),
    "overload tensor": lambda s: overloads(s, lambda s: s.tensor(2.5, 1.0)),
    "overload none": lambda s: overloads(s, lambda s: None),
    "overload complex": lambda s: overloads(s, lambda s: 1j),
    "packet": lambda s: (
        defined(s, "f(Tensor x) -> Tensor", "f.o(Tensor x) -> Tensor"),
        repr(s.op.f),
        str(s.op.f),
        s.op.f.overloads(),
        repr(s.op.f.o),
        str(s.op.f.o),
        s.op.f.o.name(),
        s.op.f.default.name(),
        s.op.f.o.__name__,
        s.op.f.o.is_view,
        s.op.f.default._can_decompose(),
        str(s.op.f.o._schema),
    )[1:],
    "keys of a tensor": lambda s: str(s.C._dispatch_keys(s.tensor(1.0))),
    "state": lambda s: (
        str(s.C._dispatch_tls_local_include_set()),
        str(s.C._dispatch_tls_local_exclude_set()),
    ),
    "direct and computed": lambda s: (
        defined(s, "f(Tensor x) -> Tensor", fn=lambda x: x, key="Autograd"),
        s.C._dispatch_has_kernel_for_dispatch_key(f"{s.ns}::f", "Autograd"),
        s.C._dispatch_has_kernel_for_dispatch_key(f"{s.ns}::f", "AutogradCPU"),
        s.C._dispatch_has_computed_kernel_for_dispatch_key(f"{s.ns}::f", "AutogradCPU"),
    )[1:],
    "custom op": lambda s: (
        repr(f := custom(s, "(Tensor x, int n=2) -> int", lambda x, n: n)),
        f(s.tensor(1.0), 3),
    ),
    "custom op tags": lambda s: [
        tag.name for tag in custom(s, "(Tensor x) -> int", lambda x: 1)._opoverload.tags
    ],
    "custom op counts writes": lambda s: (
        x := s.tensor(1.0),
        custom(s, "(Tensor(a!) x) -> ()", lambda x: None, mutates_args=("x",))(x),
        x._version,
    )[2],
    "no fake needed": lambda s: custom(
        s, "(Tensor(a!) x) -> ()", lambda x: None, mutates_args=("x",)
    )(s.tensor(1.0, device="meta")),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_program_gives_the_same_result(name: str) -> None:
    both = sides()
    expected = outcome(RESULTS[name], both["torch"])
    assert expected[0] == "result", expected
    if name == "dump":
        expected = ("result", [re.sub(r" :: .*", "", line) for line in expected[1]])
    assert outcome(RESULTS[name], both["dovetail"]) == expected


ERRORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "kind": (lambda s: s.L(s.ns, "FOO"), "Unsupported kind: FOO"),
    "reserved": (lambda s: s.L("prim", "DEF"), "prim is a reserved namespace"),
    "second DEF": (
        lambda s: (s.L(s.ns, "DEF"), s.L(s.ns, "DEF")),
        "Only a single TORCH_LIBRARY can be used to register the namespace cmp",
    ),
    "wildcard": (lambda s: s.L("_", "FRAGMENT"), "with the wildcard namespace _"),
    "key of a DEF": (lambda s: s.L(s.ns, "DEF", "CPU"), "dispatch_key_.has_value()"),
    "unknown key": (lambda s: s.L(s.ns, "IMPL", "Foo"), "could not parse dispatch key: Foo"),
    "duplicate": (
        lambda s: defined(s, "f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor"),
        "Tried to register an operator (cmp::f(Tensor x) -> Tensor) with the same name and "
        "overload name",
    ),
    "def in IMPL": (
        lambda s: s.L(s.ns, "IMPL").define("h(Tensor x) -> Tensor"),
        "Cannot define an operator inside of a TORCH_LIBRARY_IMPL block",
    ),
    "foreign namespace": (
        lambda s: s.L(s.ns, "DEF").define("o::h(Tensor x) -> Tensor"),
        "Explicitly provided namespace (o)",
    ),
    "alias analysis": (
        lambda s: s.L(s.ns, "DEF").define("h(Tensor x) -> Tensor", "FOO"),
        "Invalid alias_analysis type FOO",
    ),
    "no function": (
        lambda s: s.L(s.ns, "DEF").impl("f", 3, "CPU"),
        "Input function is required to be a callable",
    ),
    "no name": (
        lambda s: s.L(s.ns, "DEF").impl(3, lambda x: x, "CPU"),
        "impl should be passed either a name or an OpOverload",
    ),
    "key of the library": (
        lambda s: s.L(s.ns, "IMPL", "CUDA").impl("f", lambda x: x, "CPU"),
        "(CPU) is inconsistent with the dispatch key of the enclosing TORCH_LIBRARY_IMPL block "
        "(CUDA)",
    ),
    "name of another namespace": (
        lambda s: s.L(s.ns, "IMPL").impl("aten::sin", lambda x: x, "CPU"),
        "Explicitly provided namespace (aten) in operator name does not match",
    ),
    "meta on nothing": (
        lambda s: defined(s, "f(Tensor x) -> Tensor").impl("no", lambda x: x, "Meta"),
        "operator cmp::no does not exist",
    ),
    "meta on a composite": (
        lambda s: defined(s, "f(Tensor x) -> Tensor", fn=lambda x: x, key=CIA).impl(
            "f", lambda x: x, "Meta"
        ),
        "We should not register a meta kernel directly to the operator",
    ),
    "override": (
        lambda s: defined(s, "f(Tensor x) -> Tensor", fn=lambda x: x).impl(
            "f", lambda x: x, "CPU", allow_override=False
        ),
        "This is not allowed since there's already a kernel registered from python overriding f's "
        "behavior for CPU",
    ),
    "fallback of a namespace": (
        lambda s: s.L(s.ns, "IMPL").fallback(lambda *a: 1, "CPU"),
        'Fallback can only be registered using library fragment on the global namespace "_"',
    ),
    "fallback without key": (lambda s: s.L("_", "IMPL").fallback(lambda *a: 1), "dispatch_key"),
    "destroyed": (
        lambda s: ((lib := s.L(s.ns, "DEF"))._destroy(), lib.define("f(Tensor x) -> Tensor")),
        "destroyed",
    ),
    "gone": (undo_and_look, "'_OpNamespace' 'cmp' object has no attribute 'f'"),
    "no overload": (
        lambda s: (defined(s, "f(Tensor x) -> Tensor"), s.op.f.no),
        "has no overload name 'no'",
    ),
    "dunder": (
        lambda s: (defined(s, "f(Tensor x) -> Tensor"), s.op.f.__foo__),
        "can't have an overload name beginning",
    ),
    "missing argument": (
        lambda s: (defined(s, NAMED, **SHOW), s.op.f()),
        "cmp::f() is missing value for argument 'x'",
    ),
    "too many": (
        lambda s: call(s, NAMED, SHOW["fn"], 1, 2),
        "takes 2 positional argument(s) but 3 was/were given.",
    ),
    "far too many": (
        lambda s: call(s, NAMED, SHOW["fn"], 1, 2, 3),
        "expected at most 3 argument(s) but received 4",
    ),
    "unknown keyword": (
        lambda s: call(s, NAMED, SHOW["fn"], zz=1),
        "Unknown keyword argument 'zz' for operator 'cmp::f'",
    ),
    "wrong type": (
        lambda s: call(s, NAMED, SHOW["fn"], 1.5),
        "Expected a value of type 'int' for argument 'n' but instead found type 'float'",
    ),
    "no kernel": (
        lambda s: (defined(s, "f(Tensor x) -> Tensor"), s.op.f(s.tensor(1.0))),
        "Could not run 'cmp::f' with arguments from the 'CPU' backend",
    ),
    "no tensors": (
        lambda s: (defined(s, "f(int n) -> int", fn=lambda n: n), s.op.f(1)),
        "There were no tensor arguments to this function",
    ),
    "no overload fits": (lambda s: overloads(s, lambda s: "a"), "failed to match any schema"),
    "return of nothing": (
        lambda s: call(s, "f(Tensor x) -> ()", lambda x: 1),
        "to return None but it returned something else",
    ),
    "return of a float": (
        lambda s: call(s, "f(Tensor x) -> Tensor", lambda x: 3.0),
        "Unable to cast 3.0 to Tensor",
    ),
    "return of one": (
        lambda s: call(s, "f(Tensor x) -> (Tensor, Tensor)", lambda x: x),
        "is not an instance of 'sequence'",
    ),
    "recursion": (recursion, "recursion"),
    "query of nothing": (
        lambda s: s.C._dispatch_has_kernel_for_dispatch_key("nope::x", "CPU"),
        "operator nope::x does not exist",
    ),
    "query of an alias": (
        lambda s: (
            defined(s, "f(Tensor x) -> Tensor"),
            s.C._dispatch_has_computed_kernel_for_dispatch_key(f"{s.ns}::f", "Autograd"),
        ),
        "Alias keys do not have runtime kernel registrations",
    ),
    "find": (
        lambda s: s.C._dispatch_find_schema_or_throw(f"{s.ns}::no", ""),
        "Could not find schema for cmp::no",
    ),
    "custom without namespace": (
        lambda s: s.custom_op("no", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor"),
        "not enough values to unpack",
    ),
    "custom keyword tensors": (
        lambda s: custom(s, "(Tensor x, *, Tensor y) -> Tensor", lambda x, y: x),
        "kwarg-only Tensor args",
    ),
    "custom mutation": (
        lambda s: custom(s, "(Tensor(a!) x) -> ()", lambda x: x),
        "The schema suggests that the op mutates {'x'}",
    ),
    "custom alias": (
        lambda s: custom(s, "(Tensor x) -> Tensor", lambda x: x)(s.tensor(1.0)),
        "must not also be an input",
    ),
    "custom fake": (
        lambda s: custom(s, "(Tensor x) -> Tensor", lambda x: x)(s.tensor(1.0, device="meta")),
        "There was no fake impl registered for <CustomOpDef(cmp::f)>",
    ),
    "custom autograd": (
        lambda s: custom(
            s, "(Tensor(a!) x) -> ()", lambda x: None, mutates_args=("x",)
        ).register_autograd(lambda c: None),
        "Cannot register autograd formula for non-functional operator",
    ),
    "custom device": (
        lambda s: custom(s, "(int n) -> int", lambda n: n, device_types="cpu")(1),
        "Functions without tensor inputs are required to have a `device",
    ),
    "register_kernel type": (
        lambda s: (
            defined(s, "f(Tensor x) -> Tensor"),
            s.library.register_kernel(s.op.f, "cpu", lambda x: x),
        ),
        "got unexpected type for op",
    ),
    "register_fake of nothing": (
        lambda s: (
            defined(s, "f(Tensor x) -> Tensor"),
            s.library.register_fake(f"{s.ns}::no", lambda x: x),
        ),
        "operator cmp::no does not exist",
    ),
    "define name": (
        lambda s: s.library.define("zz", "(Tensor x) -> Tensor"),
        "Expected `qualname` to be of the form",
    ),
    "define schema": (
        lambda s: s.library.define(f"{s.ns}::zz", "Tensor x -> Tensor"),
        "expected schema to look like",
    ),
    "impl type": (
        lambda s: s.library.impl(f"{s.ns}::zz", "foo", lambda x: x),
        "device type at start of device string: foo",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_wrong_program_raises_the_same_error_in_the_same_key_words(name: str) -> None:
    program, words = ERRORS[name]
    both = sides()
    expected, text = outcome(program, both["torch"])
    assert words in text, text
    actual, own_text = outcome(program, both["dovetail"])
    assert (actual, words in own_text) == (expected, True), own_text
