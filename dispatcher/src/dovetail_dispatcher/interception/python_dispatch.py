"""`__torch_dispatch__`: modes, and classes of arguments, that run operators at the key Python,
below autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from dovetail_kernel import TensorBase, bump_version, set_state, share_storage, share_version, state
from dovetail_kernel.keys import PYTHON_DISPATCH, STATE, StateGuard
from dovetail_kernel.signature import NORMAL, SCALAR_BITS
from dovetail_kernel.tensor import InsideCounter

from ..table import registry
from ..table.kernel_results import KernelResults
from ..table.operator import Operator
from .mode_stacks import Mode, above_python, below_python, dispatch_modes
from .overrides import multiple_dispatch_failed, overloaded_args


class TorchDispatchMode(Mode):
    """Subclass it, override ``__torch_dispatch__``, and enter an instance: ``with MyMode():``.

    The handler sees every operator that reaches a backend, below autograd: composite operators are
    decomposed, and backward is seen as well. The innermost mode is asked first; while its handler
    runs it is not active, so calling ``func`` there goes to the next mode out, then to arguments
    with ``__torch_dispatch__``, then to the kernel. Modes belong to the task that entered them.

    Attributes
    ----------
    is_transform
        Whether the mode transforms a function, as `vmap` does: then it runs before the transforms
        around it for tensors that the function captures too. Default: False.
    """

    variables = (STATE, dispatch_modes.variable)
    is_transform: ClassVar[bool] = False
    _stack = dispatch_modes

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Return the result of the operator call ``func(*args, **kwargs)``, or NotImplemented.

        Parameters
        ----------
        func
            The `OpOverload`.
        types
            The classes of the arguments that have ``__torch_dispatch__``.
        args, kwargs
            The arguments, without those that equal their default.
        """
        raise NotImplementedError(
            f"{type(self).__qualname__} must override __torch_dispatch__(func, types, args, kwargs)"
        )


class enable_reentrant_dispatch(StateGuard):
    """Guard: calls inside a ``__torch_dispatch__`` pass through autograd and all other keys above
    Python again. Disabled modes stay disabled.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(above_python)


def python_fallback(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operator at the key Python: call the handler of the innermost mode, else those of the
    arguments.

    Raises
    ------
    TypeError
        If all handlers return NotImplemented.
    """
    if len(args) > 1 and args[1].__class__ in SCALAR_BITS:
        func = _for_number(func)
    op: Operator = func._operator
    given = tuple([list(value) if value.__class__ is tuple else value for value in args])
    overloaded = dispatching_args((*given, *kwargs.values()) if kwargs else given)
    types = tuple([value.__class__ for value in overloaded])
    versions = _versions(op, given, kwargs) if op.schema.is_mutable else ()
    rules = op.torch_dispatch_rules
    asked = []
    before = state()
    below = below_python[before]
    modes = dispatch_modes.active()
    try:
        set_state(below)
        if modes:
            mode, rest = modes[-1], modes[:-1]
            try:
                dispatch_modes.put(rest)
                set_state((dispatch_modes.seen if rest else dispatch_modes.unseen)[below])
                handler = _handler(op, mode, mode.__class__) if rules else mode.__torch_dispatch__
                result = handler(func, types, given, kwargs)
            finally:
                dispatch_modes.put(modes)
                set_state(below)
            if result is not NotImplemented:
                _count_writes(versions)
                return _finished(op, result, handler, given, kwargs)
            asked.append(f"  - mode object {mode!r}")
        for cls in types:
            handler = _handler(op, cls, cls) if rules else cls.__torch_dispatch__
            result = handler(func, types, given, kwargs)
            if result is not NotImplemented:
                _count_writes(versions)
                return _finished(op, result, handler, given, kwargs)
            asked.append(f"  - tensor subclass {cls!r}")
    finally:
        set_state(before)
    raise multiple_dispatch_failed(f"dovetail.ops.{func}", "__torch_dispatch__", asked)


_NUMBERS_BY_TENSOR = frozenset(
    {
        *(
            "add",
            "sub",
            "mul",
            "div",
            "floor_divide",
            "subtract",
            "multiply",
            "divide",
            "true_divide",
        ),
        *("maximum", "minimum", "atan2"),
    }
)
"""Names whose overload for tensors takes Python numbers in PyTorch as well."""


def _for_number(func: Any) -> Any:
    """Return the overload that PyTorch chooses for a number beside a tensor: ``gt.Scalar``, though
    ``gt.Tensor`` runs.

    Functions here let the overload for two tensors serve numbers too, which saves choosing.
    """
    op: Operator = func._operator
    if op.overload != "Tensor" or op.base_name.rstrip("_") in _NUMBERS_BY_TENSOR:
        return func
    for_numbers = registry.find(op.name, "Scalar") or registry.find(op.name, "Scalar_Other")
    return func if for_numbers is None else for_numbers.handle


def _handler(
    op: Operator, asked: TorchDispatchMode | type[TensorBase], cls: type
) -> Callable[..., Any]:
    """Return what a mode or class does for an operator: the rule for its class, else its method."""
    rule = op.torch_dispatch_rules.get(cls)
    if rule is None:
        method: Callable[..., Any] = asked.__torch_dispatch__
        return method
    bound = partial(rule, asked)
    bound.__func__ = rule  # type: ignore[attr-defined]  # as methods have it
    return bound


def dispatching_args(values: Sequence[object]) -> list[TensorBase]:
    """Return one argument per class with ``__torch_dispatch__``, an instance of a subclass before
    one of its base.
    """
    found = []
    for value in values:
        if isinstance(value, TensorBase):
            if value._signature & PYTHON_DISPATCH:
                found.append(value)
        elif isinstance(value, list | tuple):
            for item in value:
                if isinstance(item, TensorBase) and item._signature & PYTHON_DISPATCH:
                    found.append(item)
    return overloaded_args(found) if found else found


def _argument(op: Operator, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
    if name in kwargs:
        return kwargs[name]
    position = [a.name for a in op.schema.arguments].index(name)
    return args[position] if position < len(args) else None


def _checked(op: Operator, result: object, handler: object) -> Any:
    """Return what a handler returned, as the schema has it, or raise in its name."""
    function = getattr(handler, "__func__", handler)
    code = getattr(function, "__code__", None)
    place = "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
    who = f"{getattr(function, '__qualname__', repr(function))}{place}, called for {op.handle},"
    return KernelResults(op, who).by_schema(result)


def _finished(
    op: Operator, result: Any, handler: object, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return what a handler returned as the schema has it, with the aliases that it promises: what
    is written is returned itself.

    A view of a tensor with ``__torch_dispatch__`` counts the writes to its base, and shares its
    storage: those are found that show the same memory.
    """
    schema = op.schema
    if not (schema.returns_one_tensor and isinstance(result, TensorBase)):
        result = _checked(op, result, handler)
    if not schema.returns_aliases:
        return result
    returns = schema.returns
    several = len(returns) > 1
    results = list(result) if several else [result]
    for position, declared in enumerate(returns):
        info = declared.alias_info
        if info is None:
            continue
        info = info.contained or info  # of a list: what its tensors are views of
        # A generator that is left would lose an interrupt that comes when it is closed.
        sources = [
            a.name
            for a in op.schema.arguments
            if a.alias_info and a.alias_info.before_set & info.after_set
        ]
        if not sources:
            continue
        value = _argument(op, sources[0], args, kwargs)
        if info.is_write:
            # Anything but a tensor is left for the check of what a kernel returns.
            if results[position] is None or isinstance(
                results[position], TensorBase | list | tuple
            ):
                results[position] = value
        elif (
            isinstance(value, TensorBase)
            and value._signature & PYTHON_DISPATCH
            and value._signature & NORMAL
        ):
            for view in (
                results[position]
                if isinstance(results[position], list | tuple)
                else (results[position],)
            ):
                if not isinstance(view, TensorBase) or view is value:
                    continue
                if _counts_alone(view):
                    view._counter = share_version(value)
                if view._signature & PYTHON_DISPATCH and view._storage is None:
                    view._storage = share_storage(value)
    return tuple(results) if several else results[0]


def _counts_alone(view: TensorBase) -> bool:
    """Return whether a view that a handler returned counts writes by itself: it has no counter, or
    the one that a wrapper gets when it is made inside of a function transform.
    """
    counter = view._counter
    return counter is None or bool(
        view._signature & PYTHON_DISPATCH
        and isinstance(counter, InsideCounter)
        and not counter.value
    )


def _versions(
    op: Operator, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[tuple[TensorBase, int]]:
    """Return the tensors with ``__torch_dispatch__`` that the operator writes, and their
    versions.
    """
    written = [_argument(op, a.name, args, kwargs) for a in op.schema.arguments if a.is_write]
    tensors = [t for each in written for t in (each if isinstance(each, list | tuple) else (each,))]
    return [
        (t, 0 if t._counter is None else t._counter.value)
        for t in tensors
        if isinstance(t, TensorBase) and t._signature & PYTHON_DISPATCH
    ]


def _count_writes(versions: Sequence[tuple[TensorBase, int]]) -> None:
    """Count a write to each tensor, unless the handler has written to that very tensor and it is
    counted already.
    """
    for tensor, before in versions:
        if (0 if tensor._counter is None else tensor._counter.value) == before:
            bump_version(tensor)
