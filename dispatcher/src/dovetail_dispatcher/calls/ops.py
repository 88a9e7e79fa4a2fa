"""`dovetail.ops`: namespaces, overload packets and overloads, made when first touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from dovetail_kernel import DispatchKey, DispatchKeySet, plugin_manager
from dovetail_kernel.errors import did_you_mean
from dovetail_kernel.plugins.entries import LIBRARIES

from ..schema import FunctionSchema, bind
from ..table import operator as operator_module
from ..table import registry
from ..table.operator import Operator
from ..table.tags import Tag
from .entry_support import make_entry, miss, redispatch_entry
from .overload_resolution import decided_by_class, resolve_overload


class OpOverload:
    """One overload of an operator: ``ops.aten.add.Tensor``. Unique per operator, hashable, not
    picklable.

    The class of each is its own, with the operator's entry as ``__call__``: an instance that
    forwards ``*args`` would cost twice as much per call.
    """

    __slots__ = ("__name__", "__weakref__", "_operator", "_packet")

    _operator: Operator

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._packet: OpOverloadPacket | None = None
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
        if self._packet is None:
            packet = getattr(getattr(ops, self.namespace), self._opname)
            assert isinstance(packet, OpOverloadPacket)
            self._packet = packet
        return self._packet

    @property
    def tags(self) -> list[Any]:
        """The tags of the definition."""
        return [tag if isinstance(tag, Tag) else Tag[tag] for tag in self._operator.tags]

    @property
    def is_view(self) -> bool:
        """Whether arguments are aliased and none is written."""
        infos = [a.alias_info for a in self._schema.arguments if a.alias_info is not None]
        return bool(infos) and not any(info.is_write for info in infos)

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
            If there is none.
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
        return any(self._operator.newest(key) for key in keys)

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"
        )

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        raise RuntimeError(
            f"{self!r} is not pickleable. Pickle its name {self.name()!r} and look it up in "
            "dovetail.ops."
        )


def _make_overload(operator: Operator) -> OpOverload:
    entry = make_entry(operator)
    cls = type(
        "OpOverload",
        (OpOverload,),
        {
            "__slots__": (),
            "__call__": staticmethod(entry),
            "__doc__": str(operator.schema),
            "__module__": f"dovetail.ops.{operator.namespace}",
        },
    )
    overload: OpOverload = cls(operator)
    return overload


operator_module.handle_factory = _make_overload


class OpOverloadPacket:
    """All overloads of one name: ``ops.aten.add``. A call takes the first overload that its
    arguments fit.
    """

    def __init__(self, qualified_name: str) -> None:
        self._qualified_op_name = qualified_name
        self._epoch = -1
        self._only: OpOverload | None = None
        self._known: dict[tuple[type, ...], OpOverload] = {}
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

    def __getattr__(self, name: str) -> OpOverload:
        printed = self._qualified_op_name.replace("::", ".")
        if name.startswith("__"):
            raise AttributeError(
                f"'{printed}' can't have an overload name beginning with '__' and the underlying "
                "op has no attribute "
                f"{name}."
            )
        wanted = "" if name == "default" else name
        op = next((each for each in self._operators if each.overload == wanted), None)
        if op is None:
            with registry.lock:
                op = next((each for each in self._operators if each.overload == wanted), None)
        if op is None:
            raise AttributeError(
                f"The underlying op of '{printed}' has no overload name '{name}'."
                f"{did_you_mean(name, self.overloads())} It has: "
                f"{', '.join(self.overloads()) or 'none'}."
            )
        overload: OpOverload = op.handle
        return overload

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._epoch != registry.epoch:
            self._forget()
        overload = self._only
        if overload is None:
            overload = None if kwargs else self._known.get(tuple(map(type, args)))
            if overload is None:
                overload = self._resolve(args, kwargs)
        try:
            return overload(*args, **kwargs)
        except TypeError as error:
            if kwargs and error.__traceback__ is not None and error.__traceback__.tb_next is None:
                bind(
                    overload._schema, args, kwargs
                )  # an argument was given twice: says so in PyTorch's words
            raise

    def _forget(self) -> None:
        """Look at the overloads anew: the table has changed."""
        epoch = registry.epoch
        operators = self._operators
        self._only = operators[0].handle if len(operators) == 1 else None
        self._known = {}
        # Last: until then other threads look for themselves.
        self._epoch = epoch

    def _resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """Return the overload for a call, and remember it if the classes of the arguments alone
        decide.
        """
        operators = self._operators
        chosen = resolve_overload(self._qualified_op_name, operators, args, kwargs)
        overload: OpOverload = chosen.handle
        if not kwargs and chosen is operators[0] and decided_by_class(chosen, args):
            self._known[tuple(map(type, args))] = overload
        return overload

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._qualified_op_name.replace('::', '.')}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        raise RuntimeError(
            f"{self!r} is not pickleable. Pickle its name {self._qualified_op_name!r} and look it "
            "up in dovetail.ops."
        )


class _OpNamespace(ModuleType):
    """The operators of one namespace: ``ops.aten``."""

    def __init__(self, name: str) -> None:
        super().__init__(f"dovetail.ops.{name}")
        self._name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        qualified = f"{self._name}::{name}"
        if name.startswith("__") and not registry.is_defined(qualified):
            raise AttributeError(
                name
            )  # the interpreter asks for all sorts of names, which should load no library
        if not registry.is_defined(qualified):
            _load_library(self._name)
        with (
            registry.lock
        ):  # while another definition is put over one, or taken off it, there is none for a moment
            if registry.is_defined(qualified):
                packet = self.__dict__[name] = packet_of(
                    qualified
                )  # found there from now on, until `_forget_packet`
                return packet
        raise AttributeError(
            f"'_OpNamespace' '{self._name}' object has no attribute '{name}'.{self._hint(name)}"
        )

    def _hint(self, name: str) -> str:
        """Return what may have been meant: another operator, or where there is none at all, another
        namespace.
        """
        known = self._names()
        if known:
            return did_you_mean(name, known)
        namespaces = {each.partition("::")[0] for each in list(registry.operators)} | {
            *plugin_manager.namespaces()
        }
        others = did_you_mean(self._name, sorted(namespaces))
        return (
            " Nothing is registered in the namespace "
            f"{self._name!r}.{others} Import the library that defines "
            "it."
        )

    def _names(self) -> list[str]:
        return [
            n.partition("::")[2]
            for n in list(registry.operators)
            if n.startswith(f"{self._name}::")
        ]

    def __dir__(self) -> list[str]:
        _load_library(self._name)
        return self._names()


def _load_library(namespace: str) -> None:
    """Load the installed library of `namespace`, if there is one and it is not being loaded
    already.
    """
    if plugin_manager.provides(LIBRARIES, namespace):
        plugin_manager.load_library(namespace)


_packets: dict[str, OpOverloadPacket] = {}


def packet_of(qualified: str) -> OpOverloadPacket:
    """Return the one packet of a name; late overloads show up in it."""
    packet = _packets.get(qualified)
    if packet is None:
        packet = _packets.setdefault(qualified, OpOverloadPacket(qualified))
    return packet


def _defined(qualified: str) -> list[Operator]:
    return [op for op in list(registry.operators.get(qualified, {}).values()) if op.is_defined]


def _forget_packet(qualified: str) -> None:
    """Let the next look into a namespace find that the name is not defined any more."""
    namespace, _, name = qualified.partition("::")
    if namespace in ops.__dict__:
        ops.__dict__[namespace].__dict__.pop(name, None)


registry.undefined_observers.append(_forget_packet)


class _Ops(ModuleType):
    """``dovetail.ops``: any name is a namespace; a library of that name is loaded when it is first
    touched.
    """

    def __init__(self) -> None:
        super().__init__("dovetail.ops")
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _OpNamespace(name)
        self.__dict__[name] = namespace
        return namespace

    def load_library(self, path: str) -> None:
        """Load a shared library, whose initialisers may register operators through this Python
        interpreter.

        Raises
        ------
        OSError
            If it cannot be loaded. Libraries built against PyTorch need PyTorch.
        """
        from ctypes import CDLL

        try:
            CDLL(str(path))
        except OSError as reason:
            raise OSError(f"Could not load this library: {path}. {reason}") from reason
        self.loaded_libraries.add(str(path))

    def import_module(self, module: str) -> None:
        """Import a module that registers operators."""
        from importlib import import_module

        import_module(module)


ops = _Ops()
