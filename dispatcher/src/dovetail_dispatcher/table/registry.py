"""The operator table: what is registered now, and nothing derived from it but the routes, which
every change clears.

Writers hold the lock, and clear routes under it before they change anything; a route is composed
and stored under it too, so no stale route can be stored after a change, nor be left by a change
that is interrupted. A cached call takes no lock. Each registration leaves the function that takes
it back with its owner *before* it takes effect; taking back what never came into effect does
nothing. The table depends only on what is live, never on the order in which it came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import RLock
from typing import Any, Final

from dovetail_kernel import Backend, DispatchKey, on_default_dtype_change, runtime_keys
from dovetail_kernel.errors import did_you_mean

from ..schema import FunctionSchema, parse_schema
from .batching import BatchingRule
from .kernels import Kernel
from .operator import Operator
from .providers import Registrar
from .redefinition import registrar_of, stale_kernels, take_out
from .user_warning import warn_user

lock: Final = RLock()
operators: Final[dict[str, dict[str, Operator]]] = {}
"""Operators by qualified name, then by overload, in order of definition."""
fallbacks: Final[dict[DispatchKey, Kernel]] = {}
epoch = 0
"""Counts changes; what was derived from the table outside it compares this number."""

BUILT_IN: Final = "dovetail"
"""Location of the fallbacks that come with the dispatcher; these may be covered by a library's."""
built_in_fallbacks: Final[dict[DispatchKey, Kernel]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class _Fallback:
    """One registration of a fallback by a library, and the kernels that it has put in the table."""

    key: DispatchKey
    make: Callable[[DispatchKey], Kernel]
    kernels: dict[DispatchKey, Kernel]


_library_fallbacks: Final[list[_Fallback]] = []

Undo = Callable[[], None]

transaction_undos: Final[ContextVar[list[Undo] | None]] = ContextVar(
    "dovetail_registrations", default=None
)
"""What takes back the registrations made while a plugin is being loaded in this task."""

undefined_observers: Final[list[Callable[[str], None]]] = []
"""Called, under the lock, with every name whose last definition was taken back."""

_warned_of_override = False


# -- looking up ------------------------------------------------------------------------------------


def find(name: str, overload: str = "") -> Operator | None:
    """Return the operator in the table, defined or not, or None."""
    return operators.get(name, {}).get(overload)


def find_qualified(qualified: str) -> Operator | None:
    """Return the operator called ``ns::name`` or ``ns::name.overload``, or None."""
    name, _, overload = qualified.partition(".")
    return find(name, "" if overload == "default" else overload)


def find_or_throw(name: str, overload: str = "") -> Operator:
    """Return a defined operator.

    Raises
    ------
    RuntimeError
        If there is none; the text says what is there.
    """
    op = find(name, overload)
    if op is not None and op.is_defined:
        return op
    qualified = f"{name}.{overload}" if overload else name
    if op is not None:
        raise RuntimeError(
            f"Could not find schema for {qualified}. but we found an implementation; did you "
            "forget to def() the "
            "operator? Kernels registered at: "
            f"{', '.join(k.origin for stack in op.kernels.values() for k in stack)}. "
            "Define it: Library.define(...)."
        )
    raise RuntimeError(
        f"Could not find schema for {qualified}.{did_you_mean(name, operators)} Load the library "
        "that defines it, or "
        "define it: Library.define(...)."
    )


def is_defined(name: str) -> bool:
    """Return whether there is a definition of any overload of `name`."""
    return any(op.is_defined for op in list(operators.get(name, {}).values()))


def all_operators() -> list[Operator]:
    """Return every operator of the table, by name then in order of definition."""
    return [op for overloads in list(operators.values()) for op in list(overloads.values())]


# -- registering -----------------------------------------------------------------------------------


def define(
    schema: FunctionSchema | str,
    location: str,
    undos: list[Undo],
    *,
    tags: Sequence[Any] = (),
    kind: str = "other",
    promotion: str = "none",
    registrar: Registrar | None = None,
    override: bool = False,
) -> Operator:
    """Define an operator; `schema` carries the namespace. What takes the definition back is
    appended to `undos`.

    A definition by the same code run again replaces the earlier one, and the kernels that it
    registered then. With `override` one by other code is covered, with all that is registered,
    until this one is taken back.

    Raises
    ------
    RuntimeError
        If the same overload is defined already by other code; nothing is changed then.
    TypeError
        If a kernel that was registered before cannot have this schema.
    """
    parsed = parse_schema(schema) if isinstance(schema, str) else schema
    with lock:
        op = find(parsed.name, parsed.overload_name)
        again = False
        if op is not None and op.is_defined:
            again = registrar is not None and registrar.replaces(registrar_of(op))
            if not again and not override:
                raise _defined_twice(str(parsed), op, location)
            if not again and op.variants:
                raise RuntimeError(
                    f"{op.qualified_name}, defined at {op.defined_at}, has generated variants and "
                    "cannot be overridden "
                    f"at {location}. Override its kernels: Library.impl."
                )
        covers = op is not None and op.is_defined and not again
        stale: list[Kernel] = []
        if op is not None and not covers:
            stale = stale_kernels(op, parsed, registrar if again else None)
        op = _operator(parsed.name, parsed.overload_name)
        token = registrar if registrar is not None else object()
        keep(_undo_definition(op, token), undos)
        with _changing(op):
            if again:
                take_out(op, stale)
                op.undefine()
            elif covers:
                op.cover()
            _move_to_end(op)
            op.tags, op.kind, op.promotion = tuple(tags), kind, promotion
            op.define(parsed, location, token)
    return op


def define_many(
    rows: Iterable[
        tuple[str, str, str, tuple[str, ...], tuple[str, ...], tuple[Any, ...], str | None]
    ],
    location: str,
) -> None:
    """Define a generated table: rows of schema text, kind, promotion, promote, refuses, tags,
    functional operator.

    The texts (with namespace) were checked when they were generated, and are parsed when first
    looked at. An in-place or ``out=`` variant names its functional operator
    (``"aten::add.Tensor"``), which stands before it in the table.

    Raises
    ------
    RuntimeError
        If an operator is defined already; none of the table is defined then.
    """
    undos: list[Undo] = []
    with lock:
        try:
            for text, kind, promotion, promote, refuses, tags, functional in rows:
                name, _, overload = text[: text.index("(")].partition(".")
                op = _operator(name, overload)
                if op.is_defined:
                    raise _defined_twice(text, op, location)
                token = object()
                keep(_undo_definition(op, token), undos)
                op.forget_routes()
                op.kind, op.promotion, op.promote, op.refuses, op.tags = (
                    kind,
                    promotion,
                    promote,
                    refuses,
                    tags,
                )
                op.define(text, location, token)
                if functional is not None:
                    op.variant_of = find_or_throw(*functional.split(".", 1))
                    op.variant_of.variants += (op,)
            _next_epoch()
        except BaseException:
            take_back(undos)
            raise


def add_kernel(name: str, overload: str, kernel: Kernel, undos: list[Undo]) -> None:
    """Put `kernel` on top of those at its key. What uncovers the one beneath again is appended to
    `undos`.
    """
    with lock:
        op = _operator(name, overload)
        stack = op.kernels.get(kernel.key, [])
        again = next((old for old in stack if old.is_run_again_as(kernel)), None)
        if (
            stack
            and again is None
            and stack[0].fn is not kernel.fn
            and kernel.key is not DispatchKey.Meta
        ):
            try:
                _warn_of_override(op, stack[0], kernel)
            except UserWarning:  # warnings are errors: refuse, and leave no trace
                _drop_if_empty(op)
                raise

        def undo() -> None:
            with lock:
                if any(kernel in stacks.get(kernel.key, ()) for stacks in op.stacks()):
                    with _changing(op):
                        take_out(op, [kernel])
                _drop_if_empty(op)

        keep(undo, undos)
        with _changing(op):
            if again is not None:
                stack.remove(again)
            op.kernels.setdefault(kernel.key, []).insert(0, kernel)


def add_fallback(
    key: DispatchKey, make: Callable[[DispatchKey], Kernel], undos: list[Undo]
) -> None:
    """Put a backend fallback at `key`, or at every runtime key of an alias. What takes it back is
    appended to `undos`.

    Raises
    ------
    RuntimeError
        If one of the keys has a fallback already; nothing is changed then.
    """
    with lock:
        keys: Iterable[DispatchKey] = runtime_keys(key) if key.is_alias else (key,)
        fallback = _Fallback(key, make, {each: make(each) for each in keys})
        for each, kernel in fallback.kernels.items():
            old = fallbacks.get(each)
            if old is not None and old.location != BUILT_IN:
                raise RuntimeError(
                    "Tried to register multiple backend fallbacks for the same dispatch key "
                    f"{each.name}; previous "
                    f"registration registered at {old.origin}, new registration registered at "
                    f"{kernel.origin}. "
                    "Destroy the library that registered the previous one first."
                )

        def undo() -> None:
            if fallback in _library_fallbacks:
                with lock, _changing():
                    for each in fallback.kernels:
                        built_in = built_in_fallbacks.get(each)
                        if built_in is None:
                            fallbacks.pop(each, None)
                        else:
                            fallbacks[each] = built_in
                    _library_fallbacks.remove(fallback)

        keep(undo, undos)
        with _changing():
            _library_fallbacks.append(fallback)
            fallbacks.update(fallback.kernels)


def add_built_in_fallbacks(kernels: Iterable[Kernel]) -> None:
    """Add fallbacks that come with the dispatcher, beneath those that libraries have registered or
    will register.
    """
    with lock, _changing():
        for kernel in kernels:
            built_in_fallbacks[kernel.key] = kernel
            fallbacks.setdefault(kernel.key, kernel)


def extend_alias_fallbacks(backend: Backend) -> None:
    """Put the fallbacks that were registered at an alias key at the keys of a new backend too."""
    with lock, _changing():
        for fallback in _library_fallbacks:
            if fallback.key.is_alias:
                new = [key for key in runtime_keys(fallback.key) if key.backend is backend]
                fallback.kernels.update(
                    {key: fallback.make(key) for key in new if key not in fallback.kernels}
                )
                fallbacks.update(fallback.kernels)


def set_formula(name: str, overload: str, formula: Any, undos: list[Undo] | None = None) -> Undo:
    """Set how to differentiate an operator; return what restores the formula before, and append it
    to `undos`.
    """
    with lock:
        op = find_or_throw(name, overload)
        before = op.formula

        def undo() -> None:
            with lock:
                if op.formula is formula:
                    with _changing(op):
                        op.formula = before
                for each in op.covered:
                    if each.values["formula"] is formula:
                        each.values["formula"] = before

        keep(undo, [] if undos is None else undos)
        with _changing(op):
            op.formula = formula
    return undo


def set_torch_dispatch_rule(
    name: str, overload: str, cls: type, rule: Callable[..., Any], undos: list[Undo]
) -> None:
    """Let `rule` run an operator in place of the ``__torch_dispatch__`` of `cls`, a mode or a
    Tensor subclass.

    What takes the rule back is appended to `undos`. It is looked up at every call, so no route need
    be forgotten.

    Raises
    ------
    RuntimeError
        If there is no such operator, or it has a rule for `cls` already.
    """
    with lock:
        op = find_or_throw(name, overload)
        if cls in op.torch_dispatch_rules:
            raise RuntimeError(
                f"{cls.__qualname__} already has a `__torch_dispatch__` rule registered for "
                f"{op.qualified_name}. "
                "Destroy the library that registered it first."
            )

        def undo() -> None:
            with lock:
                if op.torch_dispatch_rules.get(cls) is rule:
                    del op.torch_dispatch_rules[cls]

        keep(undo, undos)
        op.torch_dispatch_rules[cls] = rule


def set_batching_rule(
    name: str, overload: str, rule: BatchingRule, undos: list[Undo] | None = None
) -> Undo:
    """Set how to call an operator on batched tensors; return what restores the rule before, and
    append it to `undos`.

    Routes need not be composed anew: the rule is looked up by the call.
    """
    with lock:
        op = find_or_throw(name, overload)
        before = op.batching_rule

        def undo() -> None:
            with lock:
                if op.batching_rule is rule:
                    op.batching_rule = before

        keep(undo, [] if undos is None else undos)
        op.batching_rule = rule
    return undo


# -- taking back -----------------------------------------------------------------------------------


def take_back(undos: list[Undo]) -> None:
    """Take back registrations, the newest first. One that is interrupted is still in the list."""
    with lock:
        while undos:
            undos[-1]()
            undos.pop()


def forget_all_routes() -> None:
    """Clear the routes of every operator, because something that all were composed from has
    changed.
    """
    with lock, _changing():
        pass


# -- parts -----------------------------------------------------------------------------------------


def _operator(name: str, overload: str) -> Operator:
    overloads = operators.setdefault(name, {})
    op = overloads.get(overload)
    if op is None:
        op = overloads[overload] = Operator(name, overload)
    return op


def keep(undo: Undo, undos: list[Undo]) -> None:
    """Leave `undo` with the owner of a registration, and with the plugin that is being loaded."""
    transaction = transaction_undos.get()
    if transaction is not None and transaction is not undos:
        undo = _Once(undo)
        transaction.append(undo)
    undos.append(undo)


class _Once:
    """An undo with two holders: once it was called, the other holder keeps nothing alive."""

    __slots__ = ("_undo",)

    def __init__(self, undo: Undo) -> None:
        self._undo: Undo | None = undo

    def __call__(self) -> None:
        if self._undo is not None:
            self._undo()
            self._undo = None


def _undo_definition(op: Operator, token: object) -> Undo:
    def undo() -> None:
        with lock:
            beneath = next(
                (each for each in op.covered if each.values["definition"] is token), None
            )
            if op.definition is token:
                with _changing(op):
                    op.undefine()
                    if op.variant_of is not None:
                        op.variant_of.variants = tuple(
                            each for each in op.variant_of.variants if each is not op
                        )
                        op.variant_of = None
                    if op.covered:
                        op.uncover()
                if not is_defined(op.name):
                    for observer in undefined_observers:
                        observer(op.name)
            elif beneath is not None:
                with _changing(op):
                    op.covered = tuple(each for each in op.covered if each is not beneath)
                    for key, stack in beneath.kernels.items():
                        op.kernels.setdefault(key, []).extend(stack)
            _drop_if_empty(op)

    return undo


def _move_to_end(op: Operator) -> None:
    """Put `op` last among its overloads: they are tried in the order of definition, not of their
    first kernel.
    """
    overloads = operators[op.name]
    del overloads[op.overload]
    overloads[op.overload] = op


def _drop_if_empty(op: Operator) -> None:
    if op.is_empty and find(op.name, op.overload) is op:
        del operators[op.name][op.overload]
        if not operators[op.name]:
            del operators[op.name]


@contextmanager
def _changing(op: Operator | None = None) -> Iterator[None]:
    """Change `op`, or what concerns all operators: routes are gone before, and the epoch is another
    one after.
    """
    for each in all_operators() if op is None else (op,):
        each.forget_routes()
    try:
        yield
    finally:
        _next_epoch()


def _next_epoch() -> None:
    global epoch
    epoch += 1


def _defined_twice(schema: str, op: Operator, location: str) -> RuntimeError:
    return RuntimeError(
        f"Tried to register an operator ({schema}) with the same name and overload name multiple "
        "times. Each "
        "overload's schema should only be registered with a single call to def(). Duplicate "
        "registration: "
        f"registered at {location}. Original registration: registered at {op.defined_at}. Choose "
        "another name, "
        "destroy the library that defined it first, or give override=True."
    )


def _warn_of_override(op: Operator, old: Kernel, new: Kernel) -> None:
    global _warned_of_override
    if _warned_of_override:
        return
    _warned_of_override = True
    warn_user(
        "Overriding a previously registered kernel for the same operator and the same dispatch "
        "key: "
        f"{op.qualified_name}, {new.key.name}; previous kernel registered at {old.origin}, new "
        "kernel registered at "
        f"{new.origin}. Further overrides in this process are not reported."
    )


on_default_dtype_change(lambda _dtype: forget_all_routes())
