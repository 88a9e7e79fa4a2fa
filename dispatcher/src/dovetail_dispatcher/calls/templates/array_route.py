"""Text of routes that call an array kernel: unwrap, promote, call, wrap, as the operator's schema
and kind say.

A functional pointwise route for operands of one dtype is no more than::

    def add_Tensor(self, other, alpha):
        try:
            if alpha == 1:
                array = plain(self.array, other.array)
            else:
                array = kernel(self.array, other.array, alpha=alpha)
        except ValueError as error:
            raise call_error(error, self, other) from None
        result = make_tensor()
        result.array = array
        result._signature = SIGNATURE
        ...
        return result
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail_kernel import (
    Backend,
    VersionCounter,
    backends_of_signature,
    dtype,
    dtype_of_signature,
    share_storage,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.tensor.new_tensors import bare_tensor_maker
from dovetail_kernel.tensor.version import WritableCounter
from dovetail_kernel.types.signature import DTYPE_MASK, INFERENCE, NORMAL, PYTHON_SCALAR, ZERO_DIM

from ...table.kernels import Kernel
from ...table.operator import Operator
from ..array_errors import call_error
from ..array_route_support import (
    array_wrapper,
    check_inference_write,
    check_overlap,
    copy_between_backends,
    dtype_of,
    on_backend,
    write_into,
    write_out,
)
from ..number_operands import category_of_number, number_cache
from ..promotion_rules import (
    check_operands,
    check_writable_as,
    computing_dtype,
    promoter,
    static_dtype,
)
from .arguments import (
    OPTIONAL_TENSOR,
    TENSOR,
    TENSOR_LIST,
    array_expression,
    is_tensor_like,
    spelling,
)
from .arguments import route_parameter as parameter
from .entry import numbers_allowed, symbol
from .source import RouteText


def array_route(
    op: Operator, kernel: Kernel, backend: Backend, key: int, *, inference: bool
) -> RouteText:
    """Return the route of `op` through the array kernel `kernel`, for calls with `key`.

    Raises
    ------
    RuntimeError
        If the key alone says that the call is wrong: an in-place result that cannot be cast to its
        destination.
    """
    return _ArrayRoute(op, kernel, backend, key, inference).text


COPY = "aten::copy_"
"""The operator whose arguments may be on different devices."""

DETACH = "aten::detach"
"""The operator whose result may be written outside inference mode, though it be an inference
tensor.
"""

_COMPUTE_NOTHING = ("view", "factory")
"""Kinds of operators whose kernels have nothing to warn of."""


def quiet_lines(
    text: RouteText, backend: Backend, line: str, function: Callable[..., Any]
) -> list[str]:
    """Return the lines of the route `text` that run `line` without floating-point warnings out of
    `function`.
    """
    state = backend.arrays.error_state
    if state is None:
        return [line]
    if not backend.arrays.may_warn(function):
        # It warns in the name of its caller, and CPython drops the warnings of a module without a
        # name.
        text.bindings["__name__"] = None
        return [line]
    text.bindings.update(set_error_state=state[0], reset_error_state=state[1], QUIET=state[2])
    return [
        "quiet = set_error_state(QUIET)",
        "try:",
        f"    {line}",
        "finally:",
        "    reset_error_state(quiet)",
    ]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _ArrayRoute:
    """One pass over a schema that writes the text of its route."""

    def __init__(
        self, op: Operator, kernel: Kernel, backend: Backend, key: int, inference: bool
    ) -> None:
        schema = op.schema
        self.op, self.kernel, self.backend, self.key = op, kernel, backend, key
        self.schema = schema
        self.arrays = backend.arrays
        self.unlocks = op.name == DETACH and not key & NORMAL and not inference
        if schema._is_view_op():  # a view is as normal as what it shows, wherever it is made
            inference = not key & NORMAL
        self.base = backend.bit | (INFERENCE if inference else NORMAL)
        self.outs = [a for a in schema.arguments if a.is_out]
        self.written = next((a for a in schema.arguments if a.is_write and not a.kwarg_only), None)
        self.inputs = [a for a in schema.arguments if not a.is_out]
        self.tensors = [a for a in self.inputs if spelling(a) == TENSOR]
        self.expressions = {a.name: array_expression(a) for a in self.inputs}
        self.wanted: dtype | None = None
        self.text = RouteText(symbol(schema), [parameter(a) for a in schema.arguments])
        self.bind(kernel=kernel.fn, native_dtypes=self.arrays.native_dtypes)
        if op.name == COPY and len(backends_of_signature(key)) > 1:
            self.copy_between_backends()
            return
        self.unwrap()
        if self.written:
            self.write()
        elif self.outs:
            self.write_out()
        else:
            self.call_and_wrap()

    def bind(self, **bindings: Any) -> None:
        self.text.bindings.update(bindings)

    def add(self, *lines: str) -> None:
        self.text.lines += lines

    # -- arguments ---------------------------------------------------------------------------------

    def unwrap(self) -> None:
        if len(backends_of_signature(self.key)) > 1:
            self.bind(on_backend=partial(on_backend, self.backend))
            for argument in self.inputs:
                if is_tensor_like(argument):
                    self.add(f"{parameter(argument)} = on_backend({parameter(argument)})")
        if self.op.refuses:
            check_operands(self.op, self.key)
        if self.op.promote and self.tensors:
            self.promote()

    def promote(self) -> None:
        operands = [a for a in self.tensors if a.name in self.op.promote]
        common = static_dtype(self.key) if len(operands) == len(self.tensors) else None
        if common is None:
            names = [parameter(a) for a in operands]
            category = category_of_number(self.key & PYTHON_SCALAR)
            self.bind(promote=promoter(self.backend, self.op, category))
            self.add(
                f"({''.join(f'{name}_array, ' for name in names)}), computed = "
                f"promote({', '.join(names)})"
            )
            self.expressions.update({a.name: f"{parameter(a)}_array" for a in operands})
            self.text.promoted = True
            return
        self.wanted = wanted = computing_dtype(common, self.op.promotion)
        cast = operands
        if self.key & PYTHON_SCALAR and numbers_allowed(self.schema, self.op.promote):
            number = parameter(operands[1])
            numbers, remember = number_cache(self.backend, wanted)
            self.bind(numbers=numbers, remember=remember)
            self.add(f"number = {number}", f"{number} = numbers.get(number)")
            self.add(f"if {number} is None:", f"    {number} = remember(number)")
            cast = operands[:1]
        if not self.key & wanted.bit:
            self.text.promoted = True
            self.bind(cast=self.arrays.cast, computed_native=self.arrays.native_dtypes[wanted])
            for argument in cast:
                self.expressions[argument.name] = (
                    f"cast({parameter(argument)}.array, computed_native)"
                )

    # -- the call ----------------------------------------------------------------------------------

    def call(self, target: str) -> None:
        """Add the call of the kernel, its result left in `target`, with its errors put in the words
        of the schema.
        """
        positional = [self.expressions[a.name] for a in self.inputs if not a.kwarg_only]
        keyword = [f"{a.name}={self.expressions[a.name]}" for a in self.inputs if a.kwarg_only]
        general = self.quiet(
            f"{target} = kernel({', '.join(positional + keyword)})", self.kernel.fn
        )
        if self.kernel.plain is None:
            self.guarded(general)
            return
        self.bind(plain=self.kernel.plain)
        arguments = ", ".join(self.expressions[a.name] for a in self.inputs if is_tensor_like(a))
        self.guarded(
            self.chosen(self.quiet(f"{target} = plain({arguments})", self.kernel.plain), general)
        )

    def chosen(self, plain: list[str], general: list[str]) -> list[str]:
        """Return the lines that run `plain` where every argument but the tensors has its default,
        else `general`.
        """
        tests = self.default_tests()
        if not tests:
            return plain
        return [f"if {' and '.join(tests)}:", *_indented(plain), "else:", *_indented(general)]

    def quiet(self, line: str, function: Callable[..., Any]) -> list[str]:
        """Return the lines that run `line` without floating-point warnings out of `function`."""
        return (
            [line]
            if self.op.kind in _COMPUTE_NOTHING
            else quiet_lines(self.text, self.backend, line, function)
        )

    def guarded(self, lines: list[str]) -> None:
        if self.op.kind != "pointwise":
            self.add(*lines)
            return
        self.bind(call_error=partial(call_error, self.op))
        operands = ", ".join(
            parameter(a) for a in self.inputs if spelling(a) in (TENSOR, OPTIONAL_TENSOR)
        )
        self.add("try:", *_indented(lines))
        self.add(
            "except (ValueError, TypeError) as error:",
            f"    raise call_error(error, {operands}) from error",
        )

    def default_tests(self) -> list[str]:
        """Return the conditions under which every argument but the tensors has its default."""
        tests = []
        for argument in self.inputs:
            if is_tensor_like(argument):
                continue
            name, default = parameter(argument), argument.default_value
            if not argument.has_default_value():
                return ["False"]
            if default is None or isinstance(default, bool):
                tests.append(f"{name} is {default}")
            else:
                tests.append(f"{name} == {default!r}")
        return tests

    # -- results -----------------------------------------------------------------------------------

    def call_and_wrap(self) -> None:
        returns = self.schema.returns
        shared = self.shared_with()
        kinds = [spelling(r) for r in returns]
        if kinds == [TENSOR]:
            self.call("array")
            self.wrap("result", "array", shared)
            self.text.results = ["result"]
        elif kinds == [TENSOR_LIST]:
            self.call("arrays")
            self.bind(wrap=array_wrapper(self.backend, self.base))
            self.add(f"result = [wrap(array, {shared}) for array in arrays]")
            self.text.results = ["result"]
        elif kinds and all(kind == TENSOR for kind in kinds):
            arrays = [f"array{i}" for i in range(len(kinds))]
            self.call(", ".join(arrays))
            if any(a.name == "output_mask" for a in self.inputs):
                # What is masked out comes back as None.
                self.bind(wrap=array_wrapper(self.backend, self.base))
                self.add(
                    *[
                        f"result{i} = None if {a} is None else wrap({a}, None)"
                        for i, a in enumerate(arrays)
                    ]
                )
            else:
                for i, array in enumerate(arrays):
                    self.wrap(f"result{i}", array, shared)
            self.text.results = [f"result{i}" for i in range(len(kinds))]
        else:
            self.call("result")
            self.text.results = ["result"] if returns else []

    def shared_with(self) -> str | None:
        """Return the parameter whose memory the results share, if the operator is a view."""
        if not self.schema._is_view_op() or not self.schema.returns:
            return None
        return next((parameter(a) for a in self.inputs if a.alias_info is not None), None)

    def wrap(self, result: str, array: str, shared: str | None) -> None:
        self.bind(make_tensor=bare_tensor_maker())
        pointwise = self.op.kind == "pointwise"
        if not pointwise or self.key & ZERO_DIM or not self.key & DTYPE_MASK:
            self.bind(Array=self.arrays.array_types[0], lift=self.arrays.lift)
            self.add(f"if {array}.__class__ is not Array:", f"    {array} = lift({array})")
        self.add(f"{result} = make_tensor()", f"{result}.array = {array}")
        self.add(f"{result}._signature = {self.signature(array)}")
        self.add(f"{result}._grad_fn = None", f"{result}.output_nr = 0")
        if shared is None:
            self.add(f"{result}._storage = None", f"{result}._counter = None")
        else:
            self.bind(share_storage=share_storage, VersionCounter=VersionCounter)
            self.add(f"storage = {shared}._storage", f"counter = {shared}._counter")
            self.add(f"{result}._storage = share_storage({shared}) if storage is None else storage")
            self.add("if counter is None:", f"    counter = {shared}._counter = VersionCounter()")
            self.add(f"{result}._counter = counter")
            if self.unlocks:
                self.bind(WritableCounter=WritableCounter)
                self.add(f"{result}._counter = WritableCounter()")
        self.add(f"{result}._meta = None")
        self.text.arrays[result] = array

    def signature(self, array: str) -> str:
        """Return the text of the signature of a tensor around `array`."""
        wanted = None if self.op.promotion == "operands" else self.wanted
        if wanted is not None and self.op.promotion == "bool_result":
            wanted = bool_
        if wanted is not None and not (
            self.op.promotion == "complex_to_real" and wanted.is_complex
        ):
            self.bind(SIGNATURE=self.base | wanted.bit)
            if not self.key & ZERO_DIM:
                return "SIGNATURE"
            self.bind(ZERO_DIM_SIGNATURE=self.base | wanted.bit | ZERO_DIM)
            return f"SIGNATURE if {array}.ndim else ZERO_DIM_SIGNATURE"
        self.bind(BASE=self.base, dtype_bits=self.arrays.dtype_bits, ZERO_DIM=ZERO_DIM)
        general = f"BASE | dtype_bits[{array}.dtype] | (0 if {array}.ndim else ZERO_DIM)"
        common = static_dtype(self.key)
        if common is None:
            return general
        self.bind(
            SIGNATURE=self.base | common.bit,
            ZERO_DIM_SIGNATURE=self.base | common.bit | ZERO_DIM,
            DTYPE=self.arrays.native_dtypes[common],
        )
        return (
            f"(SIGNATURE if {array}.ndim else ZERO_DIM_SIGNATURE) "
            f"if {array}.dtype is DTYPE else {general}"
        )

    # -- writes ------------------------------------------------------------------------------------

    def write(self) -> None:
        """Compute and write into the argument that the schema marks, count the write, return what
        the schema says.
        """
        assert self.written is not None
        name = parameter(self.written)
        self.bind(NORMAL=NORMAL, check_inference_write=check_inference_write)
        if self.base & NORMAL:
            self.add(f"if not {name}._signature & NORMAL:", f"    check_inference_write({name})")
        for other in self.tensors:
            # What is called value is a number, which is read before anything is written.
            if other is not self.written and other.name != "value":
                local = parameter(other)
                self.bind(check_overlap=check_overlap)
                self.add(
                    f"if {local}._storage is not None and {local}._storage is {name}._storage:"
                )
                self.add(f"    check_overlap({name}, {local})")
        into = self.kernel.into if self.arrays.mutable_arrays else None
        settled = self.wanted is not None and self.op.promotion not in ("bool_result", "operands")
        own_dtype = settled and not self.text.promoted
        if settled:
            self.check_cast()
        self.bind(write_into=write_into)
        if into is not None and own_dtype:
            self.bind(into=into)
            arrays = ", ".join(self.expressions[a.name] for a in self.inputs if is_tensor_like(a))
            direct = self.quiet(f"into({arrays}, out={name}.array)", into)
            positional = [self.expressions[a.name] for a in self.inputs if not a.kwarg_only]
            keyword = [f"{a.name}={self.expressions[a.name]}" for a in self.inputs if a.kwarg_only]
            into_any = self.kernel.into_any
            if into_any is not None:
                self.bind(into_any=into_any)
                call = f"into_any({', '.join([*positional, *keyword, f'out={name}.array'])})"
            else:
                call = f"write_into({name}, kernel({', '.join(positional + keyword)}), None)"
            self.guarded(self.chosen(direct, self.quiet(call, into_any or self.kernel.fn)))
        else:
            self.call("array")
            computed = "None"
            if self.op.promotion in ("none", "operands") and self.op.variant_of is not None:
                self.bind(dtype_of=dtype_of(self.backend))
                computed = "dtype_of(array)"
            elif self.text.promoted and self.wanted is None and self.op.promotion != "bool_result":
                computed = "computed"
            self.guarded([f"write_into({name}, array, {computed})"])
        self.count_write(name)
        self.text.results = [name] if self.schema.returns else []

    def copy_between_backends(self) -> None:
        """Write what a tensor of another backend holds; the destination may be of either."""
        assert self.written is not None
        name, source = (parameter(a) for a in self.inputs[:2])
        self.bind(
            copy_between_backends=copy_between_backends,
            NORMAL=NORMAL,
            check_inference_write=check_inference_write,
        )
        if self.base & NORMAL:
            self.add(f"if not {name}._signature & NORMAL:", f"    check_inference_write({name})")
        self.add(f"copy_between_backends({name}, {source})")
        self.count_write(name)
        self.text.results = [name]

    def check_cast(self) -> None:
        """Refuse at once what the key alone shows to be uncastable."""
        assert self.wanted is not None
        bits = self.key & DTYPE_MASK
        if bits & (bits - 1):
            return
        if self.op.promotion == "complex_to_real" and self.wanted.is_complex:
            name = self.op.base_name.rstrip("_")
            raise RuntimeError(
                f"In-place {name} is not supported for complex tensors. Use the out-of-place "
                "operator."
            )
        check_writable_as(self.wanted, dtype_of_signature(bits))

    def count_write(self, name: str) -> None:
        self.bind(VersionCounter=VersionCounter)
        self.add(f"counter = {name}._counter", "if counter is None:")
        self.add(f"    {name}._counter = VersionCounter(1)", "else:", "    counter.value += 1")

    def write_out(self) -> None:
        """Compute, then write into the ``out=`` tensors, which take the shape of the results."""
        self.bind(write_out=write_out)
        arrays = [f"array{i}" for i in range(len(self.outs))]
        self.call(", ".join(arrays))
        for array, out in zip(arrays, self.outs, strict=True):
            self.add(f"write_out({parameter(out)}, {array})")
            self.count_write(parameter(out))
        self.text.results = [parameter(a) for a in self.outs] if self.schema.returns else []
