"""The functional forms of registration: `define`, `impl`, `register_kernel` and their kin."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import (
    CustomOpDef,
    Library,
    Tag,
    TorchDispatchMode,
    check_pending,
    define,
    impl,
    impl_abstract,
    ops,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from dovetail_dispatcher._C import _dispatch_dump, _dispatch_get_all_op_names, _dispatch_has_kernel
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import PythonFormula
from dovetail_kernel import TensorBase, backend, wrap

Tensor = TensorBase
Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


def new(array: Any) -> TensorBase:
    return wrap(np.asarray(array), backend("cpu"))


def like(x: Tensor, n: int = 2) -> Tensor:
    return wrap(x.array, x._backend)


def double(x: Tensor, n: int = 2) -> Tensor:
    return new(x.array * n)


@pytest.fixture
def lib(library: Libraries) -> Library:
    return library("func")


def test_define_and_impl_work_by_name(lib: Library, tensor: Tensors) -> None:
    define("func::f", "(Tensor x) -> int", lib=lib, tags=Tag.core)
    assert impl("func::f", "default", lambda x: 1, lib=lib) is None
    assert ops.func.f(tensor()) == 1
    impl("func::f", ["cpu", "CUDA"], lib=lib)(lambda x: 2)
    assert ops.func.f(tensor()) == 2
    assert ops.func.f.default.has_kernel_for_dispatch_key("CUDA")
    assert ops.func.f.default.tags == [Tag.core]


def test_define_and_impl_work_on_a_library_as_decorators(lib: Library, tensor: Tensors) -> None:
    @define(lib, "f(Tensor x) -> int")
    def f(x: Tensor) -> int:
        return 1

    @impl(lib, "f", "CPU")
    def f_cpu(x: Tensor) -> int:
        return 2

    assert (f(tensor()), f_cpu(tensor()), ops.func.f(tensor())) == (1, 2, 2)


def test_what_is_registered_without_a_library_stays(tensor: Tensors) -> None:
    define("stays::f", "(Tensor x) -> int")
    impl("stays::f", "cpu", lambda x: 3)
    assert ops.stays.f(tensor()) == 3


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda lib: define("zz", "(Tensor x) -> Tensor"),
            ValueError,
            "Expected `qualname` to be of the form",
        ),
        (
            lambda lib: define("func::f", "Tensor x -> Tensor"),
            ValueError,
            "expected schema to look like e.g.",
        ),
        (
            lambda lib: define(3, "(Tensor x) -> Tensor"),
            ValueError,
            "expected qualname to be instance of str",
        ),
        (
            lambda lib: impl("zz", "cpu", double),
            ValueError,
            "Expected `qualname` to be of the form",
        ),
        (lambda lib: impl("func::f", "foo", double), RuntimeError, "Expected one of cpu, cuda"),
        (lambda lib: impl(3, "cpu", double), AttributeError, "expected a str"),
        (
            lambda lib: register_kernel(ops.func.known, "cpu", double),
            ValueError,
            "got unexpected type for op",
        ),
        (
            lambda lib: register_fake(3, double),
            ValueError,
            "register_fake(3): got unexpected type for op: <class 'int'>",
        ),
        (
            lambda lib: register_autograd(3, double),
            ValueError,
            "register_autograd(3): got unexpected type for op",
        ),
        (
            lambda lib: register_fake("func::nope", double),
            RuntimeError,
            "operator func::nope does not exist",
        ),
        (
            lambda lib: register_fake("func::composite", double),
            RuntimeError,
            "We should not register a meta kernel",
        ),
        (
            lambda lib: register_autograd("func::kw", double),
            NotImplementedError,
            "register_autograd with kwarg-only",
        ),
        (
            lambda lib: register_autograd("func::view", double),
            RuntimeError,
            "non-functional operator func::view",
        ),
    ],
)
def test_a_wrong_functional_registration_is_refused(
    call: Callable[[Library], Any], error: type[Exception], words: str, lib: Library
) -> None:
    for name in ("known", "composite"):
        lib.define(f"{name}(Tensor x) -> Tensor")
    lib.define("kw(Tensor x, *, Tensor y) -> Tensor")
    lib.define("view(Tensor(a) x) -> Tensor(a)")
    lib.impl("composite", double)
    before = [_dispatch_dump(name) for name in _dispatch_get_all_op_names()]
    with pytest.raises(error, match=re.escape(words)):
        call(lib)
    assert [_dispatch_dump(name) for name in _dispatch_get_all_op_names()] == before


def test_a_fake_is_a_meta_kernel_and_may_be_refused_a_successor(
    lib: Library, tensor: Tensors
) -> None:
    lib.define("f(Tensor x) -> Tensor")
    register_fake("func::f", lib=lib)(lambda x: x)
    x = tensor(device="meta")
    assert ops.func.f(x) is x
    with pytest.raises(
        RuntimeError, match=r"already has a fake impl registered at .*\.py:\d+.*DispatchKey::Meta"
    ):
        register_fake("func::f", lambda x: x, lib=lib, allow_override=False)


def test_functions_find_a_custom_op_by_its_name(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(double)
    register_kernel("cust::f", "cpu", lambda x, n=2: new(x.array * 9))
    register_fake(op, like)
    register_autograd(ops.cust.f.default, lambda ctx, g: (g, None))
    assert op(tensor([1.0])).array.tolist() == [9.0]
    assert op(tensor([1.0], device="meta")).is_meta
    assert "cpu" in op._backend_fns


def test_a_derivative_goes_with_the_library_that_registered_it(
    library: Libraries, lib: Library
) -> None:
    lib.define("f(Tensor x) -> Tensor")
    other = library("func", "IMPL")
    register_autograd("func::f", lambda ctx, g: g, lib=other)
    operator = registry.find("func::f")
    assert operator is not None
    assert isinstance(operator.formula, PythonFormula)
    other._destroy()
    assert operator.formula is None


# -- before the definition -------------------------------------------------------------------------


def test_kernels_fakes_and_rules_may_come_before_the_definition(
    lib: Library, tensor: Tensors
) -> None:
    class Logged(TorchDispatchMode):
        pass

    register_torch_dispatch("func::f", Logged, lambda *call: 3, lib=lib)
    assert not _dispatch_has_kernel("func::f")
    register_kernel("func::f", "cpu", lambda x: 1, lib=lib)
    register_fake("func::f", lambda x: 2, lib=lib)
    assert len(check_pending()) == 2
    lib.define("f(Tensor x) -> int")
    assert [ops.func.f(tensor()), ops.func.f(tensor(device="meta"))] == [1, 2]
    with Logged():
        assert ops.func.f(tensor()) == 3
    lib._destroy()
    assert registry.find("func::f") is None


@pytest.mark.parametrize("register", [register_autograd, register_vmap])
def test_what_depends_on_the_schema_needs_the_definition(register: Any, lib: Library) -> None:
    lib.impl("f", double, "CPU")
    with pytest.raises(AttributeError, match="operator func::f does not exist"):
        register("func::f", lambda *args: None, lib=lib)


# -- derivatives among the kernels at Autograd -----------------------------------------------------


def test_of_kernels_and_derivatives_at_Autograd_the_newest_wins(
    library: Libraries, tensor: Tensors
) -> None:
    lib, over, last = library("func"), library("func"), library("func")
    lib.define("f(Tensor x) -> str")
    lib.impl("f", lambda x: "below", "CPU")
    register_autograd("func::f", lambda ctx, grad: None, lib=lib)
    assert ops.func.f(tensor()) == "below"
    over.impl("f", lambda x: "above", "Autograd")
    assert ops.func.f(tensor()) == "above"
    register_autograd("func::f", lambda ctx, grad: None, lib=last)
    assert ops.func.f(tensor()) == "below"
    last._destroy()
    assert ops.func.f(tensor()) == "above"
    over._destroy()
    assert ops.func.f(tensor()) == "below"
    assert _dispatch_dump("func::f").count("Autograd[alias]") == 1


def test_a_derivative_goes_with_the_definition(library: Libraries) -> None:
    lib, other = library("func"), library("func")
    lib.define("f(Tensor x) -> Tensor")
    register_autograd("func::f", lambda ctx, grad: grad, lib=other)
    lib._destroy()
    assert registry.find("func::f") is None


def test_a_definition_is_where_define_was_called():
    define("func::placed", "(Tensor x) -> Tensor")
    (op,) = registry.operators["func::placed"].values()
    assert op.definition.place_of(op).startswith(f"{__file__}:")


def test_the_old_name_of_register_fake_warns_and_registers(lib: Library, tensor: Tensors) -> None:
    lib.define("old(Tensor x) -> Tensor")
    with pytest.warns(FutureWarning, match="impl_abstract was renamed to register_fake"):
        assert impl_abstract("func::old", like, lib=lib) is like
    x = tensor([1.0], device="meta")
    assert ops.func.old(x).is_meta
    lib.define("older(Tensor x) -> Tensor")
    with pytest.warns(FutureWarning, match="impl_abstract"):
        decorate = impl_abstract("func::older", lib=lib)
    assert decorate(like) is like and ops.func.older(x).is_meta


def test_functions_that_register_take_a_custom_op_too(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(lambda x: x, schema="(Tensor x) -> Tensor")

    def rule(info: Any, dims: Any, x: Any) -> Any:
        return x, dims[0]

    assert register_vmap(op)(rule) is rule
    assert op._operator.batching_rule is not None

    class Logged(TorchDispatchMode):
        pass

    given = tensor([3.0])
    register_torch_dispatch(op, Logged, lambda *call: given)
    with Logged():
        assert op(tensor([1.0])) is given
