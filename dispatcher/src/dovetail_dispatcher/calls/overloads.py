"""Overloads and packets of overloads as objects: what ``ops.aten.add.Tensor`` and ``ops.aten.add``
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final
from weakref import WeakValueDictionary

from dovetail_kernel import DispatchKey, DispatchKeySet
from dovetail_kernel.errors import did_you_mean

from ..interception.overrides import asked_first
from ..schema import FunctionSchema, bind
from ..sockets import COMPILED_ENTRY, OVERLOAD_FACTORY
from ..table import registry
from ..table.operator import Operator
from ..table.tags import Tag
from .entry_forms import EntryForm, form_of
from .entry_support import make_entry, miss, redispatch_entry
from .overload_resolution import candidate, resolve_overload
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
        """Call the kernel registered at `key`; alias keys are allowed. Raises NotImplementedError
        if there is no such kernel.
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

    The class of each is its own, as of an `OpOverload`, with an entry before `_call`.
    """

    def __init__(self, qualified_name: str) -> None:
        self._qualified_op_name = qualified_name
        self.__name__ = qualified_name.partition("::")[2]

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
        return type(self).__call__

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
        printed = self._qualified_op_name.replace("::", ".")
        if name == "__signature__":  # a property would be taken for that of the class
            return signature_of([*self._schemas.values()])
        if name.startswith("__"):
            raise AttributeError(
                f"'{printed}' can't have an overload name beginning with '__' and the underlying "
                "op has no attribute "
                f"{name}."
            )
        wanted = "" if name == "default" else name
        with registry.lock:
            op = next(iter([each for each in self._operators if each.overload == wanted]), None)
            if op is not None:  # found there from now on, until `_renew`
                self.__dict__[name] = op.handle
                return op.handle
        raise AttributeError(
            f"The underlying op of '{printed}' has no overload name '{name}'."
            f"{did_you_mean(name, self.overloads())} It has: "
            f"{', '.join(self.overloads()) or 'none'}."
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        found = asked_first(self, args, kwargs)
        if found is not NotImplemented:
            return found
        operators = self._operators
        chosen = (
            operators[0]
            if len(operators) == 1
            else resolve_overload(self._qualified_op_name, operators, args, kwargs)
        )
        if not kwargs:
            return chosen.handle.op(*args)
        try:
            return chosen.handle(*args, **kwargs)
        except TypeError:
            # Where an argument was given twice, this says so in PyTorch's words.
            bind(chosen.schema, args, kwargs)
            raise

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

_packets: Final[WeakValueDictionary[str, OpOverloadPacket]] = WeakValueDictionary()


def packet_of(qualified: str) -> OpOverloadPacket:
    """Return the one packet of a name; late overloads show up in it."""
    packet = _packets.get(qualified)
    if packet is None:
        with registry.lock:
            packet = _packets.get(qualified)
            if packet is None:
                packet = _packets[qualified] = _make_packet(qualified)
    return packet


def _make_packet(qualified: str) -> OpOverloadPacket:
    names = {
        "__doc__": vars(OpOverloadPacket)["__doc__"],
        "__module__": f"dovetail.ops.{qualified.partition('::')[0]}",
    }
    packet: OpOverloadPacket = type("OpOverloadPacket", (OpOverloadPacket,), names)(qualified)
    _renew_packet(packet)
    return packet


def _renew_packet(packet: OpOverloadPacket) -> None:
    """Let a packet look at its overloads anew."""
    own = [name for name, value in list(vars(packet).items()) if isinstance(value, OpOverload)]
    for name in own:
        del vars(packet)[name]

    def call(*args: Any, **kwargs: Any) -> Any:
        return OpOverloadPacket.__call__(packet, *args, **kwargs)

    entry = COMPILED_ENTRY.plug(call, partial(_described_packet, packet, call))
    if entry is not call:
        type(packet).__call__ = staticmethod(entry)  # type: ignore[method-assign]


def _described_packet(
    packet: OpOverloadPacket, call: Callable[..., Any], entry: object
) -> EntryForm | Callable[..., Any] | None:
    """Return the form of the only overload, or what chooses an entry before that of one."""
    operators = packet._operators
    if len(operators) < 2:
        return form_of(operators[0], overridden=packet) if operators else None

    def choose(args: tuple[object, ...], kwargs: dict[str, object]) -> Callable[..., Any] | None:
        op = candidate(operators, args, kwargs)
        if op is None:
            return None
        if op not in entries:
            entries[op] = COMPILED_ENTRY.plug(call, lambda _: form_of(op, overridden=packet))
        return entries[op]

    entries: dict[Operator, Callable[..., Any]] = {}
    return choose


def _defined(qualified: str) -> list[Operator]:
    return [op for op in list(registry.operators.get(qualified, {}).values()) if op.is_defined]


def _renew(qualified: str) -> None:
    packet = _packets.get(qualified)
    if packet is not None:
        _renew_packet(packet)


registry.definition_observers.append(_renew)
