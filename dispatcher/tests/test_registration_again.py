"""Registration that lives with people: reloads, notebook cells, overrides, and what is checked at
once.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import (
    Library,
    check_pending,
    custom_op,
    define,
    impl,
    ops,
    register_autograd,
    register_fake,
)
from dovetail_dispatcher._C import _dispatch_check_all_invariants, _dispatch_get_all_op_names
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.updates.changes import open_transaction, take_back
from dovetail_kernel import TensorBase, backend

Tensors = Callable[..., TensorBase]
Libraries = Callable[..., Library]

MODULE = """
from dovetail_dispatcher import Library
lib = Library("again", "DEF")
lib.define("f(Tensor x{more}) -> int")
def kernel(x{parameter}):
    return {result}
lib.impl("f", kernel, "CPU")
"""


@pytest.fixture(autouse=True)
def _as_before(once_warnings: None) -> Iterator[None]:
    names = _dispatch_get_all_op_names()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    assert _dispatch_get_all_op_names() == names
    _dispatch_check_all_invariants()


class Module:
    """A module, or a notebook: a namespace in which source is run, each time compiled anew."""

    def __init__(self, name: str = "user_module") -> None:
        self.namespace: dict[str, Any] = {"__name__": name}
        self.undos: list[Any] = []

    def run(self, source: str, filename: str = "user_module.py") -> None:
        old = self.namespace.get("lib")
        try:
            exec(compile(source, filename, "exec"), self.namespace)
        finally:
            for lib in (old, self.namespace.get("lib")):
                if lib is not None:
                    self.undos.append(lib._changes)

    def result(self) -> str:
        return str(ops.again.f(self.namespace["x"]))


@pytest.fixture
def module(tensor: Tensors) -> Iterator[Module]:
    made = Module()
    made.namespace["x"] = tensor()
    yield made
    for undos in reversed(made.undos):
        take_back(undos)


def source(result: int, more: str = "", parameter: str = "") -> str:
    return MODULE.format(result=result, more=more, parameter=parameter)


# -- the same code run again -----------------------------------------------------------------------


def test_a_module_that_is_reloaded_replaces_what_it_registered(module: Module) -> None:
    for result in (1, 2, 3):
        module.run(source(result))
        assert module.result() == str(result)
    assert sum(len(stack) for stack in registry.operators["again::f"][""].kernels.values()) == 1


def test_a_reload_may_change_the_schema(module: Module) -> None:
    module.run(source(1))
    module.run(source(2, ", int n=5", ", n"))
    assert module.result() == "2"
    assert str(ops.again.f.default._schema) == "again::f(Tensor x, int n=5) -> int"


def test_a_reload_drops_the_kernels_that_the_module_has_no_more(module: Module) -> None:
    module.run(source(1) + 'lib.impl("f", lambda x: 7, "CUDA")')
    module.run(source(2))
    assert list(map(str, ops.again.f.default._operator.kernels)) == ["DispatchKey.CPU"]


def test_kernels_of_others_survive_a_reload(module: Module, library: Libraries) -> None:
    module.run(source(1))
    library("again", "IMPL").impl("f", lambda x: 8, "Meta")
    module.run(source(2))
    assert {k.name for k in ops.again.f.default._operator.kernels} == {"CPU", "Meta"}


CELLS = {
    "make": 'from dovetail_dispatcher import Library\nlib = Library("again", "DEF")',
    "define": 'lib.define("f(Tensor x) -> int")',
    "implement": 'def kernel(x):\n    return 1\nlib.impl("f", kernel, "CPU")',
}


@pytest.mark.parametrize(
    "again", [["define"], ["implement"], ["make"], ["make", "define"], ["define", "implement"]]
)
def test_cells_of_a_notebook_can_be_run_again(again: list[str], module: Module) -> None:
    for name, source in CELLS.items():
        module.run(source, f"<cell {name}>")
    for name in [*again, *again]:
        module.run(CELLS[name], f"<cell {name}>")
        assert module.result() == "1"


def test_an_edited_cell_replaces_what_it_registered_before(module: Module) -> None:
    for name, source in CELLS.items():
        module.run(source, f"<cell {name}>")
    module.run(CELLS["implement"].replace("1", "2"), "<cell edited>")
    assert module.result() == "2"


def test_an_edited_schema_drops_the_kernels_of_the_notebook_that_do_not_fit(module: Module) -> None:
    for name, source in CELLS.items():
        module.run(source, f"<cell {name}>")
    module.run(CELLS["define"].replace("Tensor x", "Tensor x, Tensor y"), "<cell edited>")
    assert ops.again.f.default._operator.kernels == {}
    module.run(CELLS["implement"].replace("(x)", "(x, y)"), "<cell edited too>")
    x = module.namespace["x"]
    assert ops.again.f(x, x) == 1


def test_an_edited_schema_that_others_kernels_do_not_fit_is_an_error(
    module: Module, library: Libraries
) -> None:
    for name, source in CELLS.items():
        module.run(source, f"<cell {name}>")
    library("again", "IMPL").impl("f", annotated, "CUDA")
    with pytest.raises(TypeError, match=r"annotated .* cannot be a kernel of again::f at CUDA"):
        module.run(CELLS["define"].replace("Tensor x", "Tensor x, Tensor y"), "<cell edited>")
    assert module.result() == "1"


def test_a_lambda_in_the_same_place_replaces_the_one_before(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("again", "DEF")
    lib.define("f(Tensor x) -> int")
    for _ in range(2):
        exec(
            compile('lib.impl("f", lambda x: 1, "CPU")', "<cell>", "exec"),
            {"lib": lib, "__name__": "user"},
        )
    assert (
        len(
            ops.again.f.default._operator.kernels[next(iter(ops.again.f.default._operator.kernels))]
        )
        == 1
    )


def test_two_lambdas_of_one_scope_are_not_the_same_code(library: Libraries) -> None:
    lib = library("again", "DEF")
    first, second = lambda: lib.define("f(int x) -> int"), lambda: lib.define("f(str x) -> int")
    first()
    with pytest.raises(RuntimeError, match="Tried to register an operator"):
        second()


def test_the_same_statement_twice_in_one_run_is_an_error(module: Module) -> None:
    with pytest.raises(RuntimeError, match="Tried to register an operator"):
        module.run(
            'from dovetail_dispatcher import Library\nlib = Library("again", "DEF")\n'
            + 'lib.define("f() -> ()")\n' * 2
        )


def test_a_functional_definition_made_twice_is_an_error(library: Libraries) -> None:
    undos: list[Any] = []
    before = open_transaction.get()
    open_transaction.set(undos)
    try:
        for words in ("", "Tried to register an operator"):
            with pytest.raises(RuntimeError, match=words) if words else nullcontext():
                define("again::twice", "(Tensor x) -> int")
    finally:
        open_transaction.set(before)
        take_back(undos)


def test_a_function_that_makes_a_library_can_be_called_again_once_the_first_is_dropped(
    tensor: Tensors,
) -> None:
    def setup(result: int) -> Library:
        lib = Library("again", "DEF")
        lib.define("f(Tensor x) -> int")
        lib.impl("f", lambda x: result, "CPU")
        return lib

    setup(1)
    lib = setup(2)
    assert ops.again.f(tensor()) == 2
    lib._destroy()
    assert not hasattr(ops.again, "f")


def test_two_live_libraries_of_one_function_are_two(tensor: Tensors, library: Libraries) -> None:
    library("again", "DEF").define("f(Tensor x) -> int")

    def cover(result: int) -> Library:
        lib = Library("again", "IMPL")
        lib.impl("f", lambda x: result, "CPU")
        return lib

    first = cover(1)
    with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
        second = cover(2)
    assert ops.again.f(tensor()) == 2
    second._destroy()
    assert ops.again.f(tensor()) == 1
    first._destroy()


# -- other code ------------------------------------------------------------------------------------


def test_a_definition_by_other_code_is_an_error_that_names_both_places(
    module: Module, library: Libraries
) -> None:
    module.run(source(1))
    with pytest.raises(
        RuntimeError, match=r"(?s)Tried to register.*test_registration_again.*user_module.py:4"
    ):
        Library("again", "FRAGMENT").define("f(Tensor x) -> int")
    assert module.result() == "1"


def test_an_override_covers_the_definition_with_its_kernels_until_it_is_taken_back(
    module: Module, library: Libraries, tensor: Tensors
) -> None:
    module.run(source(1))
    held = ops.again.f.default
    assert held(tensor()) == 1
    lib = library("again", "FRAGMENT")
    lib.define("f(Tensor x, Tensor y) -> str", override=True)
    with pytest.raises(NotImplementedError, match="Could not run 'again::f'"):
        ops.again.f(tensor(), tensor())
    lib.impl("f", lambda x, y: "over", "CPU")
    assert ops.again.f(tensor(), tensor()) == "over"
    lib._destroy()
    assert module.result() == "1"
    assert (held(tensor()), ops.again.f.default is held) == (1, True)


def test_what_is_covered_can_be_taken_back_first(
    module: Module, library: Libraries, tensor: Tensors
) -> None:
    module.run(source(1))
    lib = library("again", "FRAGMENT")
    lib.define("f(Tensor x) -> int", override=True)
    lib.impl("f", lambda x: 2, "CPU")
    for undos in reversed(module.undos):
        take_back(undos)
    assert ops.again.f(tensor()) == 2
    lib._destroy()
    assert not hasattr(ops.again, "f")


def test_kernels_stay_covered_when_their_definition_is_taken_back_first(
    library: Libraries, tensor: Tensors
) -> None:
    covered, cover, others = [library("again", "FRAGMENT") for _ in range(3)]
    covered.define("f(Tensor x) -> int")
    others.impl("f", lambda x: 3, "CPU")
    cover.define("f(Tensor x, Tensor y) -> str", override=True)
    covered._destroy()
    with pytest.raises(NotImplementedError, match="Could not run 'again::f'"):
        ops.again.f(tensor(), tensor())
    cover._destroy()
    covered = library("again", "FRAGMENT")
    covered.define("f(Tensor x) -> int")
    assert ops.again.f(tensor()) == 3


def test_a_kernel_registered_by_others_meanwhile_stays_when_the_cover_goes(
    module: Module, library: Libraries, tensor: Tensors
) -> None:
    module.run(source(1))
    lib = library("again", "FRAGMENT")
    lib.define("f(Tensor x) -> int", override=True)
    library("again", "IMPL").impl("f", lambda x: 9, "CPU")
    lib._destroy()
    assert module.result() == "9"


def annotated(x: TensorBase) -> int:
    return 1


def other(x: TensorBase) -> int:
    return 2


def test_a_custom_op_of_another_function_needs_override(tensor: Tensors) -> None:
    first = custom_op("again::c", annotated, mutates_args=())
    try:
        with pytest.raises(RuntimeError, match="give override=True"):
            custom_op("again::c", other, mutates_args=())
        second = custom_op("again::c", other, mutates_args=(), override=True)
        assert ops.again.c(tensor()) == 2
        second._lib._destroy()
        assert (ops.again.c(tensor()), first(tensor())) == (1, 1)
    finally:
        first._lib._destroy()


def test_a_refused_custom_op_leaves_the_one_before(tensor: Tensors) -> None:
    first = custom_op("again::c", annotated, mutates_args=())
    with pytest.raises(RuntimeError, match="Tried to register"):
        custom_op("again::c", other, mutates_args=())
    assert first(tensor()) == 1
    first._lib._destroy()


# -- what waits ------------------------------------------------------------------------------------


def test_a_kernel_without_definition_is_pending(library: Libraries) -> None:
    before = check_pending()
    library("again", "IMPL").impl("misspelt", annotated, "CPU")
    (record,) = [each for each in check_pending() if each not in before]
    assert (record.operator, record.key, record.backend) == ("again::misspelt", "CPU", None)
    assert str(record).startswith("again::misspelt at CPU, registered at ")
    assert str(record).endswith("waits for a definition")


def test_a_kernel_for_a_backend_that_is_not_there_waits_for_it(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("again", "DEF")
    lib.define("f(Tensor x) -> int")
    lib.impl("f", annotated, backend="waitedfor")
    assert [(each.operator, each.backend) for each in check_pending()] == [
        ("again::f", "waitedfor")
    ]
    backend("waitedfor", create=True)
    assert check_pending() == []
    assert {k.name for k in ops.again.f.default._operator.kernels} == {"WAITEDFOR"}
    lib._destroy()


def test_a_waiting_kernel_goes_with_its_library(library: Libraries) -> None:
    lib = library("again", "DEF")
    lib.define("f(Tensor x) -> int")
    lib.impl("f", annotated, backend="neverthere")
    lib._destroy()
    assert check_pending() == []


def test_a_backend_that_is_there_is_registered_for_at_once(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("again", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.array_impl("f", np.negative, backend="cpu")
    assert ops.again.f(tensor([1.0])).array.tolist() == [-1.0]
    with pytest.raises(RuntimeError, match="give either a dispatch key"):
        lib.impl("f", annotated, "CPU", backend="cpu")


# -- signatures ------------------------------------------------------------------------------------

SCHEMA = "f(Tensor x, int n, float a=1.5, *, str s, bool b=True) -> Tensor"


def fits(x: Any, n: Any, a: float = 1.5, *, s: str, b: bool = True) -> Any:
    return x


class Callee:
    def __call__(self, x: Any, n: Any, a: Any, *, s: Any, b: Any) -> Any:
        return x

    def method(self, x: Any, n: Any, a: Any = 1.5, *, s: Any, b: Any = True) -> Any:
        return x

    def variadic(*args: Any, s: Any, **others: Any) -> Any:
        return args[1]

    def of_one(self, x: Any, *, s: Any) -> Any:
        return x


@pytest.mark.parametrize(
    "fn",
    [
        fits,
        Callee(),
        Callee().method,
        Callee().variadic,
        lambda *args, **kwargs: args[0],
        lambda x, n, *, s: x,
        lambda x, n, a, s, b: x,
        lambda x, n, a=0, more=3, *, s, b=True, extra=None: x,
        max,
    ],
)
def test_a_function_that_some_call_can_run_is_accepted(fn: Any, library: Libraries) -> None:
    lib = library("again", "DEF")
    lib.define(SCHEMA)
    lib.impl("f", fn, "CPU")


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (lambda x: x, "it takes 1 positional argument(s), but a call gives at least 2"),
        (Callee().of_one, "it takes 1 positional argument(s), but a call gives at least 2"),
        (lambda x, n, a, b, c, d, *, s: x, "it needs 6 positional arguments, but a call gives 3"),
        (lambda x, n: x, "it does not take 's' by keyword"),
        (
            lambda x, n, *, s, zz: x,
            "it needs the keyword-only argument 'zz', which the schema has not",
        ),
    ],
)
@pytest.mark.parametrize("kernel_first", [False, True])
def test_a_function_that_no_call_can_run_is_refused_at_registration(
    kernel_first: bool, fn: Any, words: str, library: Libraries
) -> None:
    lib = library("again", "DEF")
    steps = [lambda: lib.define(SCHEMA), lambda: lib.impl("f", fn, "CPU")]
    first, second = reversed(steps) if kernel_first else steps
    first()
    with pytest.raises(TypeError, match=re.escape(words)) as error:
        second()
    assert __file__ in str(error.value)
    assert f"Give it the parameters of the schema: again::{SCHEMA}" in str(error.value)


def test_a_kernel_with_keys_has_one_parameter_more(library: Libraries) -> None:
    lib = library("again", "DEF")
    lib.define("f(Tensor x) -> int")
    with pytest.raises(
        TypeError, match=r"it takes 1 positional argument\(s\), but a call gives at least 2"
    ):
        lib.impl("f", lambda x: 1, "CPU", with_keyset=True)


def test_a_fake_is_checked_too(library: Libraries) -> None:
    library("again", "DEF").define("f(Tensor x) -> int")
    with pytest.raises(TypeError, match="cannot be a kernel of again::f at Meta"):
        register_fake("again::f", lambda: 1)


@pytest.mark.parametrize(
    ("backward", "setup_context", "words"),
    [
        (
            lambda ctx: None,
            None,
            "it must take ctx and one gradient per return, 3 positional arguments",
        ),
        (lambda ctx, a, b, c: None, None, "cannot be the backward of again::f"),
        (
            lambda *a: None,
            lambda ctx, args, out: None,
            "called with the keywords ctx, inputs, output",
        ),
        (
            lambda *a: None,
            lambda ctx, inputs, output, more: None,
            "cannot be the setup_context of again::f",
        ),
        (lambda *a: None, 3, "required to be a callable but found type int"),
    ],
)
def test_the_functions_of_a_derivative_are_checked(
    backward: Any, setup_context: Any, words: str, library: Libraries
) -> None:
    library("again", "DEF").define("f(Tensor x) -> (Tensor, Tensor)")
    with pytest.raises(TypeError, match=re.escape(words)):
        register_autograd("again::f", backward, setup_context=setup_context)


def test_keyword_only_inputs_are_expected_where_the_schema_has_any(library: Libraries) -> None:
    library("again", "DEF").define("f(Tensor x, *, int n) -> Tensor")
    with pytest.raises(TypeError, match="ctx, inputs, keyword_only_inputs, output"):
        register_autograd(
            "again::f", lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None
        )


# -- did you mean ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x: ops.agian.f,
            "Nothing is registered in the namespace 'agian'. Did you mean 'again'?",
        ),
        (lambda x: ops.again.forwrd, "Did you mean 'forward'?"),
        (lambda x: ops.again.forward.overlod, "Did you mean 'overload'?"),
        (lambda x: ops.again.forward(x, scal=2), "Did you mean 'scale'?"),
        (lambda x: Library("again", "FRAGMNT"), "Did you mean 'FRAGMENT'?"),
        (lambda x: Library("again", "IMPL", "AutogradCP"), "Did you mean 'AutogradCPU'?"),
        (lambda x: impl("again::forward", "cdua", annotated), "Did you mean 'cuda'?"),
        (lambda x: register_fake("again::forwrd", annotated), "Did you mean 'again::forward'?"),
        (
            lambda x: Library("again", "IMPL").impl("forwad", annotated, "Meta"),
            "Did you mean 'again::forward'?",
        ),
    ],
)
def test_a_name_that_is_nearly_right_is_suggested(
    call: Callable[[TensorBase], Any], words: str, library: Libraries, tensor: Tensors
) -> None:
    lib = library("again", "DEF")
    lib.define("forward(Tensor x, float scale=1.0) -> Tensor")
    lib.define("forward.overload(Tensor x) -> Tensor")
    lib.impl("forward", lambda x, scale: x, "CPU")
    with pytest.raises((AttributeError, RuntimeError, ValueError), match=re.escape(words)):
        call(tensor())


def test_an_argument_given_twice_is_refused_in_pytorchs_words(
    library: Libraries, tensor: Tensors
) -> None:
    define("again::f", "(Tensor x, int n=1) -> Tensor", lib=library("again", "FRAGMENT"))
    with pytest.raises(
        RuntimeError, match="Argument 'x' specified both as positional and keyword argument"
    ):
        ops.again.f(tensor(), x=tensor())


def test_a_type_error_of_a_kernel_stays_one(library: Libraries, tensor: Tensors) -> None:
    def kernel(x: Any, n: int) -> Any:
        raise TypeError("mine")

    lib = library("again", "DEF")
    lib.define("f(Tensor x, int n=1) -> Tensor")
    lib.impl("f", kernel, "CPU")
    with pytest.raises(TypeError, match="mine"):
        ops.again.f(tensor(), n=2)
