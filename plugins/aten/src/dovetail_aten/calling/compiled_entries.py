"""Puts compiled entries in place of generated functions, and says what each of these does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import CO_VARARGS
from types import FunctionType
from typing import Any, Final, TypeVar, cast

from dovetail_dispatcher import Operator
from dovetail_dispatcher.calls import EntryForm, Parameter, form_of
from dovetail_dispatcher.compiled_code import load_compiled_code
from dovetail_dispatcher.missing import MISSING
from dovetail_dispatcher.sockets import COMPILED_ENTRY
from dovetail_dispatcher.table import registry

from ..backend.backend_select import factory_route, factory_routes, is_selected_here
from ..backend.devices import ready_backend
from ..backend.generator import Generator
from ..templates.docstrings import document
from ..templates.python_function import python_schema, result_type, returns_list
from .compile_on_first_call import complete_choice
from .excluded_operators import is_left_out
from .overloads import Overloads, is_decided_by_class
from .return_types import names_results
from .signatures import shown_by

_OF_FACTORIES: Final = {
    "size": "SIZES",
    "dtype": "DTYPE",
    "layout": "DEFAULT",
    "device": "DEVICE",
    "pin_memory": "DEFAULT",
}
"""What entries of factories take, by parameters of schemas."""

_GENERATOR: Final = "Generator?"
_OPTIONS: Final = frozenset({"dtype", "layout", "device", "pin_memory"})

load_compiled_code()  # before the first function asks for an entry

Function = TypeVar("Function", bound=Callable[..., Any])

Arrangement = Callable[[tuple[type, ...]], tuple[tuple[Any, ...], Any]]
"""Returns, for the classes of the positional arguments of a factory, the arguments of the schema
before the first one given, and the dtype of the result; None for the default dtype.
"""


def compile_entries(names: dict[str, object]) -> None:
    """Put compiled entries in place of the generated functions of a module, whose namespace is
    `names`; without compiled code give the functions their docstrings.
    """
    own = {
        name: value
        for name, value in names.items()
        if isinstance(value, FunctionType) and value.__globals__ is names
    }
    for function in own.values():
        if not function.__name__.endswith("_operator"):  # which has the two operands alone
            shown_by(called_by, function)
    if COMPILED_ENTRY.is_filled:
        names.update({n: COMPILED_ENTRY.plug(own[n], described, document) for n in own})
    else:
        for function in own.values():  # plain functions cannot ask for it later
            document(function)


def described(
    function: FunctionType,
) -> EntryForm | Callable[[tuple[Any, ...], dict[str, Any]], Any] | None:
    """Return what a generated function does: one call of an operator, or a choice among other
    functions.
    """
    op = operator_behind(function)
    if op is None:
        return _choice(function)
    schema = python_schema(op.schema)
    is_renamed = schema is not op.schema
    finish: Callable[..., Any] | None = tuple if returns_list(op.schema) else None
    if result_type(op.schema):
        finish = names_results(op)
    found = form_of(
        op,
        schema,
        promote=["input" if is_renamed and name == "self" else name for name in op.promote],
        is_operator=function.__name__.endswith("_operator"),
        is_variadic=bool(function.__code__.co_flags & CO_VARARGS),
        finish=finish,
        overridden=function.__globals__.get(op.base_name),
    )
    if found is not None and _OPTIONS.issubset([a.name for a in schema.arguments]):
        return _past_choice(found, op)
    if found is None or not any([a.kind == _GENERATOR for a in schema.arguments]):
        return found
    taken = [
        p._replace(kind="CLASSES", classes=(Generator,)) if a.kind == _GENERATOR else p
        for p, a in zip(found.parameters, schema.arguments, strict=True)
    ]
    return found._replace(parameters=tuple(taken))


def _past_choice(form: EntryForm, op: Operator) -> EntryForm:
    """Return the form of a factory for calls that give the dtype and stay on the cpu; they skip the
    choice of the backend.
    """
    if op.schema.arguments[0].name == "self" or not is_selected_here(op):
        return form
    kinds = {"layout": "DEFAULT", "device": "DEVICE", "pin_memory": "DEFAULT"}
    taken = [
        p._replace(kind=kinds.get(a.name, p.kind), is_optional=p.is_optional and a.name != "dtype")
        for p, a in zip(form.parameters, op.schema.arguments, strict=True)
    ]
    routes = factory_routes(op)

    def compose(key: int) -> Callable[..., Any] | None:
        if factory_routes(op) is not routes or not is_selected_here(op):
            return None
        return factory_route(op, routes, ready_backend("cpu"), key)

    return form._replace(routes=routes, parameters=tuple(taken), compose=compose)


def factory_entry(
    op: Operator,
    routes: dict[int, Callable[..., Any]],
    function: Callable[..., object],
    arrange: Arrangement | None,
) -> Callable[..., Any]:
    """Return the compiled entry before the public function of a factory, which takes sizes one by
    one too and hands all arguments of the schema on as they are, or as `arrange` says.

    Parameters
    ----------
    routes
        By state, past the choice of the backend, on the cpu.
    """
    positional = [a.name for a in op.schema.arguments if not a.kwarg_only]
    takes_sizes = positional == ["size"]
    known: dict[Any, Callable[..., Any]] = {}

    def form(
        text: FunctionType, leading: tuple[object, ...] = (), dtype: Any = None
    ) -> EntryForm | None:
        found = form_of(op, routes=routes, is_variadic=takes_sizes)
        if found is None:
            return None
        taken = [p._replace(kind=_OF_FACTORIES.get(p.name or "", p.kind)) for p in found.parameters]
        if arrange is not None:  # by position alone: it saw no others
            taken = [p._replace(name=None) if p.name in positional else p for p in taken]
        for place, value in enumerate(leading):
            taken[place] = Parameter(None, "DEFAULT", False, 0, value, ())
        if dtype is not None:
            place = [p.kind for p in taken].index("DTYPE")
            own = taken[place]._replace(kind="CLASSES", is_optional=False, default=dtype)
            taken[place] = own
        return _with_own(found, taken, text, positional)._replace(leading=len(leading))

    def choose(args: tuple[object, ...], kwargs: dict[str, object]) -> Callable[..., Any]:
        assert arrange is not None
        arranged = arrange(tuple(map(type, args)))
        if arranged not in known:
            known[arranged] = COMPILED_ENTRY.plug(function, lambda text: form(text, *arranged))
        return known[arranged]

    if takes_sizes:
        return COMPILED_ENTRY.plug(function, form)
    return function if arrange is None else COMPILED_ENTRY.plug(function, lambda text: choose)


def like_entry(
    name: str,
    routes_of: Callable[[Operator], dict[int, Callable[..., Any]]],
    function: Callable[..., object],
) -> Callable[..., Any]:
    """Return the compiled entry before the public function of a factory that has a tensor to go by.

    Parameters
    ----------
    name
        Of the operator; a selective build may lack it.
    routes_of
        Returns the routes of the operator by signature and state, past the choice of the backend.
    """

    def form(text: FunctionType) -> EntryForm | None:
        op = registry.find(name)
        if op is None:
            return None
        schema, is_variadic = python_schema(op.schema), bool(text.__code__.co_flags & CO_VARARGS)
        found = form_of(op, schema, routes=routes_of(op), is_variadic=is_variadic)
        if found is None:
            return None
        kinds = {**_OF_FACTORIES, "dtype": "CLASSES", "device": "OWN_DEVICE"}
        taken = [p._replace(kind=kinds.get(p.name or "", p.kind)) for p in found.parameters]
        return _with_own(found, taken, text)

    return COMPILED_ENTRY.plug(function, form)


def _with_own(
    form: EntryForm, taken: list[Parameter], text: FunctionType, positional: Iterable[str] = ()
) -> EntryForm:
    """Return a form that takes `taken`, and of the other keywords of `text` the defaults and
    ``requires_grad``; not those of `positional`, which `taken` has without a name.
    """
    names = {*positional, *[p.name for p in taken]}
    own = [
        Parameter(name, "GRAD" if name == "requires_grad" else "DEFAULT", False, 0, default, ())
        for name, default in (text.__kwdefaults__ or {}).items()
        if name not in names
    ]
    return form._replace(parameters=(*taken, *own), own=len(own))


def scalar_entry(
    finish: Callable[..., Any] | None = None,
    finished: type | None = None,
    *,
    is_detached: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator of methods that read the only element of a tensor: it puts compiled
    entries before them.

    Parameters
    ----------
    finish, finished
        As for `EntryForm`.
    is_detached
        Whether tensors that require grad are left to the method.
    """

    def form(text: FunctionType) -> EntryForm | None:
        op = registry.find("aten::_local_scalar_dense")
        kind = "PLAIN_SINGLE" if is_detached else "SINGLE"
        taken = Parameter(None, kind, False, 0, MISSING, ())
        if op is None:  # a selective build may lack it
            return None
        return EntryForm(op.routes, (taken,), 1, finish=finish, finished=finished)

    return lambda method: COMPILED_ENTRY.plug(method, form)


def attribute_entry(name: str) -> Callable[[Function], Function]:
    """Return a decorator of the getter of an attribute of tensors that compiled code knows."""

    def decorate(function: Function) -> Function:
        return cast(Function, COMPILED_ENTRY.plug(function, lambda text: name))

    return decorate


def data_entry(function: Function) -> Function:
    """Return the compiled entry before a function that makes tensors of data on the cpu, whose
    backend is loaded first; without one, all calls are the function's.
    """

    def name(text: FunctionType) -> str | None:
        try:
            ready_backend("cpu")
        except (RuntimeError, AssertionError):
            return None
        return text.__name__

    return cast(Function, COMPILED_ENTRY.plug(function, name))


def entry_by(kind: str, *parts: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator of a function whose calls compiled code makes of `parts`; in a build
    without one of these, of a function that stays as it is.

    Parameters
    ----------
    kind
        ``"read by index"``: select, slice, unsqueeze, alias and index; ``"write by index"``: also
        fill_.Scalar, fill_.Tensor, copy_ and index_put_. ``"as subclass"``: alias. ``"leaf of
        subclass"``: detach. ``"plain handler"``, the ``__torch_function__`` of plain tensors: a
        function that returns the functions whose results stay as they are, one that makes instances
        of a class of results, and alias.
    """
    if any(map(is_left_out, parts)):
        return lambda function: function
    return lambda function: COMPILED_ENTRY.plug(function, lambda text: [kind, *parts])


def called_by(function: FunctionType) -> Operator | Overloads:
    """Return the operator that a generated function calls, or the overloads among which it
    chooses.
    """
    op = operator_behind(function)
    if op is not None:
        return op
    found = [function.__globals__.get(name) for name in function.__code__.co_names]
    return next(iter([each for each in found if isinstance(each, Overloads)]))


def operator_behind(function: FunctionType) -> Operator | None:
    """Return the operator that a generated function calls; None if it chooses one."""
    code, names = function.__code__, function.__globals__
    if code.co_names[:1] == ("complete",):  # given the name, the first such text
        operator, *_ = [x for x in code.co_consts if isinstance(x, str) and "::" in x]
        name, _, overload = operator.partition(".")
        return registry.find_or_throw(name, overload)
    for name in code.co_names:
        base, _, rest = name.rpartition("_")
        if rest == "routes":
            op: Operator = names[f"{base}_op"]
            return op
    return None


def _choice(
    function: FunctionType,
) -> Callable[[tuple[Any, ...], dict[str, Any]], Callable[..., Any] | None]:
    """Return what chooses among overloads as `function` does.

    It runs the text of the function, in which a call of an overload returns that overload, and
    nothing is tried that the classes of the arguments do not decide.
    """
    names = function.__globals__
    if function.__code__.co_names[:1] == ("complete_choice",):
        complete_choice(function, names[function.__code__.co_names[-1]])
    code = function.__code__
    own: dict[str, Any] = {"__builtins__": names["__builtins__"], "operate": _undecided}
    overloads = None
    for name in code.co_names:
        value = names.get(name)
        if isinstance(value, Overloads):
            overloads, own[name] = value, _Undecided
        elif isinstance(value, FunctionType) and name != "operate":
            own[name] = _returning(value)
        elif value is not None and name not in own:
            own[name] = value
    decide = FunctionType(code, own, function.__name__)

    def choose(args: tuple[object, ...], kwargs: dict[str, object]) -> Callable[..., Any] | None:
        if not all(map(is_decided_by_class, map(type, args))):
            return None
        chosen: Callable[..., Any] | None = decide(*args, **kwargs)
        if chosen is None and overloads is not None:
            chosen = overloads.known(args, kwargs)
        return chosen

    return choose


def _undecided(*args: Any) -> None:
    """Return None, for what the classes of the arguments do not decide."""


class _Undecided:
    choose = staticmethod(_undecided)


def _returning(value: Callable[..., object]) -> Callable[..., Any]:
    return lambda *args, **kwargs: value
