"""Arguments of operators may have any name: also those that the text of entries and routes uses for
its own things.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from devices import own_key

import dovetail
from dovetail import Tensor
from dovetail.library import Library, custom_op
from dovetail_dispatcher.calls.templates.arguments import ENTRY_NAMES

ROUTE_NAMES = frozenset(
    """
    Array BACKEND BASE CONTEXT DEFAULT DIFFERENTIABLE DTYPE DifferentiableViewMeta GRAD
    INFERENCE_MODE KEYS NORMAL NO_GRAD NO_GRAD_MODE Node OP OPERATOR OVERLOAD QUIET SIGNATURE
    Tensor VIEW VersionCounter WritableCounter ZERO_DIM ZERO_DIM_SIGNATURE args array arrays
    attach_list below bump_version call_error cast cast_ check_aliases check_all_inplace
    check_inference_write check_inplace check_operand check_overlap check_writes checked
    composite computed computed_native copy_before_write counter dtype_bits dtype_of each
    edge_of edges_of enter_fake error extras fast_path fn for_many general_out_function
    gradient_edge helper in_order info inside_counter is_column_major kernel kwargs leaf_edge
    leave_fake lift make_tensor makers mark_inside mark_unknown mark_view mark_views meta
    native_dtypes
    next_sequence_nr node note_views number numbers on_backend out_function outer promote quiet
    rebase_history recorded recording_extras reworded refuse_captured refuse_gradient refuse_out
    remember reset_error_state result save_input save_result save_result_tensor set_error_state
    set_state setup_context share_storage state state_before storage stripped tensor_of_number
    tensors unmark viewed wrap wrap_ wrap__ wrap_all write_into write_out wrong_identity
    """.split()  # noqa: SIM905
)
"""What routes call their own things, unless an argument is called so."""

OTHERS = (
    "any",
    "f",
    "len",
    "tuple",
    "ValueError",
    "self",
    "class_",
    "lambda",
    "args",
    "out",
    "input",
    "array0",
    "result1",
    "x_edge",
    "x_default",
    "f_op",
    "ctx",
    "inputs",
)
NAMES = sorted(ENTRY_NAMES | ROUTE_NAMES | {*OTHERS})


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("names", "DEF")
    yield library
    library._destroy()


@pytest.mark.parametrize("name", NAMES)
def test_a_custom_op_is_called_recorded_and_differentiated(name: str) -> None:
    schemas = {
        f"(Tensor x, Tensor {name}, int n=2) -> Tensor": lambda x, y: (x, y, 3),
        f"(Tensor x, Tensor y, int {name}=2) -> Tensor": lambda x, y: (x, y, 3),
        f"(Tensor[] {name}, Tensor? y, int n=2) -> Tensor": lambda x, y: ([x], y, 3),
        f"(Tensor x, Tensor[] y, *, int {name}=2) -> Tensor": lambda x, y: (x, [y]),
    }
    for schema, arguments in schemas.items():

        def kernel(x: Any, y: Any, *rest: Any, **options: Any) -> Tensor:
            x, y = (each[0] if isinstance(each, list) else each for each in (x, y))
            return x * 2 + y * (rest or list(options.values()) or [2])[0]

        def backward(ctx: Any, grad: Tensor) -> Any:
            return tuple([[grad * 2] if is_list else grad * 2 for is_list in ctx.lists])

        def setup_context(
            ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None
        ) -> None:
            ctx.lists = [isinstance(each, list) for each in inputs[:2]]

        op = custom_op("names::f", kernel, mutates_args=(), schema=schema, override=True)
        try:
            op.register_autograd(backward, setup_context=setup_context)
            x = dovetail.ones(2, requires_grad=True)
            options = {name: 3} if "*" in schema else {}
            for _ in range(2):
                assert op(*arguments(x.detach(), x.detach()), **options).tolist() == [5, 5]
                result = op(*arguments(x, x.detach()), **options)
                assert result.tolist() == [5, 5]
            result.sum().backward()
            assert x.grad.tolist() == [2, 2]
        finally:
            op._lib._destroy()


@pytest.mark.parametrize("name", NAMES)
def test_array_kernels_and_kernels_with_defaults_get_their_arguments(
    name: str, lib: Library
) -> None:
    lib.define(f"f(Tensor {name}, int n=1) -> Tensor")
    lib.array_impl("f", lambda a, n=1: a + n, own_key())
    lib.define(f"g(Tensor x, int {name}, *, Tensor? y=None) -> Tensor")
    lib.impl("g", lambda x, *args, **kwargs: x * args[0], own_key())
    x = dovetail.ones(2)
    for _ in range(2):
        assert dovetail.ops.names.f(x, 2).tolist() == [3, 3]
        assert dovetail.ops.names.f(**{name: x}).tolist() == [2, 2]
        assert dovetail.ops.names.g(x, 3).tolist() == [3, 3]
        assert dovetail.ops.names.g(x, **{name: 4}).tolist() == [4, 4]


@pytest.mark.parametrize("name", ["kernel", "checked", "result"])
def test_an_operator_may_have_any_name(name: str, lib: Library) -> None:
    lib.define(f"{name}(Tensor x, *, int n=1) -> Tensor")
    lib.impl(name, lambda x, *, n=1: x + n, own_key())
    assert getattr(dovetail.ops.names, name)(dovetail.ones(2), n=2).tolist() == [3, 3]


_COLLECT = """
import re

import dovetail
from dovetail.library import Library, register_autograd
from dovetail_dispatcher.calls.templates.entry import symbol
from dovetail_dispatcher.table import registry

lib = Library("names", "DEF")
lib.define("f(Tensor x, Tensor[] ys, int n=1, *, int m=1) -> (Tensor, Tensor)")
lib.impl("f", lambda x, ys, *args, **kwargs: (x * 2, x * 3), "CompositeExplicitAutograd")
register_autograd(
    "names::f", lambda ctx, *g: (g[0], None), setup_context=lambda ctx, **_: None, lib=lib
)
x = dovetail.ones(2, 2, requires_grad=True)
dovetail.ops.names.f(x, [x])
((x @ x + 1).relu()[0] * x.sum() / x.clone().add_(1)).softmax(0).backward(dovetail.ones(2, 2))
dovetail.cat([x, x.double()]).unbind(0)
dovetail.add(x.detach(), 1.5, out=dovetail.empty(2, 2))
dovetail.func.grad(lambda y: (y * 2).add_(1).sum())(x.detach())
x.detach().negative_()
dovetail.nn.functional.nll_loss(x, dovetail.zeros(2, dtype=dovetail.int64)).backward()
for op in registry.all_operators():
    names = [each.name for each in (*op.schema.arguments, *op.schema.returns) if each.name]
    own = "|".join(map(re.escape, names)) or "-"
    derived = re.compile(rf"({own})_?(_\\w+)?|(array|result)\\d*")
    for route in op.routes.values():
        code = getattr(route, "__code__", None)
        # A route may also be a function of the namespace's, or what another operator is called by.
        if code is None or not code.co_filename.startswith(f"<dovetail {symbol(op.schema)} "):
            continue
        used = {*code.co_varnames[code.co_argcount :], *route.__globals__}.intersection(
            (*code.co_varnames, *code.co_names)
        )
        print(*(name for name in used if not derived.fullmatch(name)))
"""


def test_the_names_that_routes_use_are_known() -> None:
    """Collect the names in the routes of many operators, so that the tests above try them all, in a
    process of its own: other tests make routes of any kind.
    """
    environment = {**os.environ, "DOVETAIL_NATIVE": "0"}  # a compiled route has no names
    ran = subprocess.run(
        [sys.executable, "-c", _COLLECT],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    used = set(ran.stdout.split())
    assert {"kernel", "check_inplace", "save_input"} <= used
    builtins = {"any", "len", "list", "tuple", "TypeError", "ValueError", "type", "int"}
    # Of comprehensions: isolated, but listed from Python 3.12 on.
    builtins |= {"t", "tensor", "each"}
    assert used - ROUTE_NAMES - builtins == set()
