"""Overloads and packets of overloads as objects: what ``ops.aten.add.Tensor`` and ``ops.aten.add``
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final
from weakref import WeakValueDictionary

from dovetail_kernel import DispatchKey, DispatchKeySet, state
from dovetail_kernel.errors import did_you_mean
from dovetail_kernel.keys import is_used as overrides_are_used
from dovetail_kernel.signature import NO_GRAD

from ..interception.overrides import asked_first
from ..schema import FunctionSchema, bind
from ..sockets import COMPILED_ENTRY, OVERLOAD_FACTORY
from ..table import registry
from ..table.operator import Operator
from ..table.tags import Tag
from .entry_forms import EntryForm, form_of
from .entry_support import make_entry, miss, redispatch_entry
from .overload_resolution import decided_by_class, forms, refused_by_number, resolve_overload
from .python_signatures import LateSignature, OwnDocstring, signature_of


class OpOverload:
    """One overload of an operator: ``ops.aten.add.Tensor``. Unique per operator, hashable, not
    picklable.

    The class of each is its own, with the operator's entry as ``__call__``: an instance that
    forwards ``*args`` would cost twice as much per call.
    """

    __slots__ = ("__name__", "__weakref__", "_operator")

    _operator: Operator

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.__name__ = f"{operator.base_name}.{self._overloadname}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return miss(self._operator, args, kwargs)

    @property
    def _schema(self) -> FunctionSchema:
        return self._operator.schema

    @property
    def _opname(self) -> str:
        return self._operator.base_name

    @property
    def _overloadname(self) -> str:
        return self._operator.overload or "default"

    @property
    def _name(self) -> str:
        return self._operator.qualified_name

    @property
    def namespace(self) -> str:
        """The operator's namespace."""
        return self._operator.namespace

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The packet of all overloads."""
        return packet_of(self._operator.name)

    @property
    def tags(self) -> list[Any]:
        """The tags of the definition."""
        return [tag if isinstance(tag, Tag) else Tag[tag] for tag in self._operator.tags]

    @property
    def is_view(self) -> bool:
        """Whether arguments are aliased and none is written."""
        infos = [a.alias_info for a in self._schema.arguments if a.alias_info is not None]
        return bool(infos) and not any([info.is_write for info in infos])

    @property
    def op(self) -> Callable[..., Any]:
        """What a call runs: the entry."""
        return type(self).__call__

    @property
    def _handle(self) -> OpOverload:
        return self

    @property
    def _defined_in_python(self) -> bool:
        return self.namespace != "aten"

    def name(self) -> str:
        """Return ``"aten::add.Tensor"``; no suffix for the default overload."""
        return self._operator.qualified_name

    def schema(self) -> FunctionSchema:
        """Return the schema."""
        return self._operator.schema

    def debug(self) -> str:
        """Return where the operator was defined."""
        return f"registered at {self._operator.defined_at}"

    def redispatch(self, keyset: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel of the highest key in `keyset`, which is taken as it is.

        Neither included nor excluded keys are applied, and nothing is fallen through.

        Raises
        ------
        RuntimeError
            If that key falls through.
        NotImplementedError
            If it has no kernel.
        """
        return redispatch_entry(self._operator, keyset)(*args, **kwargs)

    redispatch_boxed = redispatch

    def _op_dk(self, key: DispatchKey, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel registered at `key`; alias keys are allowed.

        Raises
        ------
        NotImplementedError
            If there is no such kernel.
        """
        op = self._operator
        if not key.is_alias:
            return self.redispatch(DispatchKeySet(key), *args, **kwargs)
        kernel = op.newest(key)
        if kernel is None:
            raise NotImplementedError(
                f"{self.name()} has no kernel at {key.name}; it has some at "
                f"{', '.join(k.name for k in op.kernels) or 'no key'}."
            )
        return kernel.fn(*args, **kwargs)

    def _can_decompose(self) -> bool:
        """Return whether there is a CompositeImplicitAutograd kernel."""
        return self._operator.newest(DispatchKey.CompositeImplicitAutograd) is not None

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Run the CompositeImplicitAutograd kernel; NotImplemented if there is none."""
        kernel = self._operator.newest(DispatchKey.CompositeImplicitAutograd)
        return NotImplemented if kernel is None else kernel.fn(*args, **kwargs)

    def has_kernel_for_dispatch_key(self, key: DispatchKey | str) -> bool:
        """Return whether a kernel is registered directly at `key`; alias keys are allowed."""
        wanted = DispatchKey[key] if isinstance(key, str) else key
        return self._operator.newest(wanted) is not None

    def has_kernel_for_any_dispatch_key(self, keys: DispatchKeySet) -> bool:
        """Return whether a kernel is registered directly at one of `keys`."""
        return any([self._operator.newest(key) for key in keys])

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"
        )

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: object) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        raise RuntimeError(
            f"{self!r} is not pickleable. Pickle its name {self.name()!r} and look it up in "
            "dovetail.ops."
        )


def _make_overload(operator: Operator) -> OpOverload:
    shown = LateSignature(signature_of, [operator.schema])
    text = make_entry(operator)
    text.__signature__ = shown  # type: ignore[attr-defined]
    entry = COMPILED_ENTRY.plug(text, partial(_described, operator))
    cls = type(
        "OpOverload",
        (OpOverload,),
        {
            "__slots__": (),
            "__call__": staticmethod(entry),
            "__doc__": str(operator.schema),
            "__module__": f"dovetail.ops.{operator.namespace}",
            "__signature__": shown,
        },
    )
    overload: OpOverload = cls(operator)
    return overload


def _described(operator: Operator, entry: object) -> EntryForm | None:
    return form_of(operator, overridden=operator.handle)


OVERLOAD_FACTORY.fill(_make_overload)


class OpOverloadPacket:
    """All overloads of one name: ``ops.aten.add``. A call takes the first overload that its
    arguments fit.
    """

    def __init__(self, qualified_name: str) -> None:
        self._qualified_op_name = qualified_name
        self._epoch = -1
        self._only: OpOverload | None = None
        self._entry: Callable[..., Any] | None = None
        self._known: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._found: dict[str, OpOverload] = {}
        self.__name__ = qualified_name.partition("::")[2]

    @property
    def __module__(self) -> str:  # type: ignore[override]
        return f"dovetail.ops.{self._qualified_op_name.partition('::')[0]}"

    @property
    def _operators(self) -> list[Operator]:
        found = _defined(self._qualified_op_name)
        if not found:
            with registry.lock:  # as in `_OpNamespace`: there may be none for a moment
                found = _defined(self._qualified_op_name)
        return found

    @property
    def op(self) -> Callable[..., Any]:
        """What a call runs."""
        return self.__call__

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {op.overload: op.schema for op in self._operators}

    def overloads(self) -> list[str]:
        """Return the names of the overloads, in the order of definition."""
        return [op.overload or "default" for op in self._operators]

    def op_overloads(self) -> list[OpOverload]:
        """Return the overloads, in the order of definition."""
        return [op.handle for op in self._operators]

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.overloads()]

    def __getattr__(self, name: str) -> Any:
        if self._epoch == registry.epoch:
            found = self._found.get(name)
            if found is not None:
                return found
        printed = self._qualified_op_name.replace("::", ".")
        if name == "__signature__":  # a property would be taken for that of the class
            return signature_of([*self._schemas.values()])
        if name.startswith("__"):
            raise AttributeError(
                f"'{printed}' can't have an overload name beginning with '__' and the underlying "
                "op has no attribute "
                f"{name}."
            )
        if self._epoch != registry.epoch:
            self._forget()
        epoch = self._epoch
        wanted = "" if name == "default" else name
        op = next(iter([each for each in self._operators if each.overload == wanted]), None)
        if op is None:
            with registry.lock:
                op = next(iter([each for each in self._operators if each.overload == wanted]), None)
        if op is None:
            raise AttributeError(
                f"The underlying op of '{printed}' has no overload name '{name}'."
                f"{did_you_mean(name, self.overloads())} It has: "
                f"{', '.join(self.overloads()) or 'none'}."
            )
        overload: OpOverload = op.handle
        if epoch == registry.epoch == self._epoch:
            self._found[name] = overload
        return overload

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if overrides_are_used() or state() & ~NO_GRAD:
            found = asked_first(self, args, kwargs)
            if found is not NotImplemented:
                return found
        if self._epoch != registry.epoch:
            self._forget()
        if not kwargs:
            entry = self._entry or self._known.get(tuple(map(type, args)))
            if entry is None:
                entry = self._known.get(forms(args))
            if entry is not None:
                return entry(*args)
        found = asked_first(self, args, kwargs)  # what is not a tensor may override functions, too
        if found is not NotImplemented:
            return found
        overload = self._only or self._resolve(args, kwargs)
        if not kwargs:
            return overload.op(*args)
        try:
            return overload(*args, **kwargs)
        except TypeError:
            # Where an argument was given twice, this says so in PyTorch's words.
            bind(overload._schema, args, kwargs)
            raise

    def _forget(self) -> None:
        """Look at the overloads anew: the table has changed."""
        epoch = registry.epoch
        operators = self._operators
        self._only = operators[0].handle if len(operators) == 1 else None
        self._entry = None if self._only is None else self._only.op
        self._known = {}
        self._found = {}
        # Last: until then other threads look for themselves.
        self._epoch = epoch

    def _resolve(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> OpOverload:
        """Return the overload for a call, and remember it if the classes of the arguments alone
        decide.
        """
        operators = self._operators
        chosen = resolve_overload(self._qualified_op_name, operators, args, kwargs)
        overload: OpOverload = chosen.handle
        if not kwargs and decided_by_class(chosen, args):
            before, count = operators[: operators.index(chosen)], len(args)
            if all([refused_by_number(each, count) for each in before]):
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[forms(args)] = overload.op
        return overload

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._qualified_op_name.replace('::', '.')}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __deepcopy__(self, memo: object) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        raise RuntimeError(
            f"{self!r} is not pickleable. Pickle its name {self._qualified_op_name!r} and look it "
            "up in dovetail.ops."
        )


def _docstring(packet: OpOverloadPacket) -> str:
    """Return how a packet is called, and its schemas."""
    schemas = packet._schemas.values()
    return "\n".join([f"{packet.__name__}{signature_of([*schemas])}", "", *map(str, schemas)])


packet_class: Any = OpOverloadPacket
packet_class.__doc__ = OwnDocstring(OpOverloadPacket.__doc__, _docstring)

_KEPT: Final = 256
"""So many forms of arguments are remembered for a name: lists may be of any length."""

_packets: Final[WeakValueDictionary[str, OpOverloadPacket]] = WeakValueDictionary()


def packet_of(qualified: str) -> OpOverloadPacket:
    """Return the one packet of a name; late overloads show up in it."""
    packet = _packets.get(qualified)
    if packet is None:
        packet = _packets.setdefault(qualified, OpOverloadPacket(qualified))
    return packet


def forget_overloads(qualified: str) -> None:
    """Let the packet of a name, if there is one, hold nothing of what was defined."""
    packet = _packets.get(qualified)
    if packet is not None:
        packet._epoch, packet._only, packet._entry = -1, None, None
        packet._known, packet._found = {}, {}


def _defined(qualified: str) -> list[Operator]:
    return [op for op in list(registry.operators.get(qualified, {}).values()) if op.is_defined]
