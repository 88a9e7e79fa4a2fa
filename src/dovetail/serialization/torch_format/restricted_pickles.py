"""Restricted unpickler: an interpreter for the opcodes of containers, and a list of callable
globals.
"""

from __future__ import annotations

import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import IO, Any, Final, Protocol

from ..checked_json import FormatError
from ..checked_keys import KeyChecks

_VALUES: Final = frozenset(
    [
        "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
        "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8",
        "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8",
    ]
)  # fmt: skip
_STRINGS_OF_PYTHON_2: Final = frozenset(["SHORT_BINSTRING", "BINSTRING"])
_CONSTANTS: Final[dict[str, Any]] = {
    "NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()
}  # fmt: skip
_EMPTY: Final[dict[str, Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set}
_TUPLES: Final = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED: Final = frozenset(["PROTO", "FRAME"])
_DICTS: Final = (dict, OrderedDict, Counter)


def corrupt(problem: str) -> FormatError:
    """Return the error for bytes that are not a pickle of a checkpoint."""
    return FormatError(f"its pickle is corrupt: {problem}")


class AllowedGlobals(Protocol):
    """The globals that a pickle may use, and the permitted operations on them."""

    def find(self, module: str, name: str) -> Any:
        """Return the object of this name if allowed, else raise an error."""

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Return ``function(*args)`` if allowed, else raise an error."""

    def new(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """Return ``cls.__new__(cls, *args)`` if allowed, else raise an error."""

    def build(self, obj: Any, state: Any) -> Any:
        """Set the state of `obj` if allowed, else raise an error."""

    def is_trusted(self, obj: Any) -> bool:
        """Return whether the user allowed the class of `obj`."""


def unpickle(
    stream: IO[bytes],
    allowed: AllowedGlobals,
    persistent_load: Callable[[Any], Any],
    encoding: str = "utf-8",
) -> Any:
    """Return the object of the pickle at the position of `stream`, and move the stream to its end.

    Only `allowed` and `persistent_load` call anything. The nesting of the object causes no
    recursion.

    Parameters
    ----------
    stream : binary file object
    allowed : AllowedGlobals
        What the pickle may name.
    persistent_load : callable
        Returns the object of a persistent id.
    encoding : str, default "utf-8"
        Encoding of Python 2 strings; "bytes" does not decode them.

    Raises
    ------
    FormatError
        If the bytes are not a pickle, or if it has opcodes other than those of containers and
        tensors.
    Exception
        Any exception of `allowed` and `persistent_load`.
    """
    return _Machine(allowed, persistent_load, encoding).run(stream)


class _Machine:
    """The stack, the marks on it, and the memo."""

    def __init__(
        self, allowed: AllowedGlobals, persistent_load: Callable[[Any], Any], encoding: str
    ) -> None:
        self._allowed = allowed
        self._persistent_load = persistent_load
        self._encoding = encoding
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._keys = KeyChecks()

    def run(self, stream: IO[bytes]) -> Any:
        while True:
            code = stream.read(1)
            name, reader = _OPCODES.get(code, ("", None))
            if not name:
                raise corrupt(f"it has {_spelling(code)}, which no checkpoint has")
            try:
                argument = None if reader is None else reader(stream)
            except (ValueError, OverflowError) as error:  # and UnicodeDecodeError
                raise corrupt(f"{error}") from None
            if name == "STOP":
                if self._marks or len(self._stack) != 1:
                    raise corrupt("it ends with something else than one object")
                return self._stack[0]
            self._do(name, argument)

    def _do(self, name: str, argument: Any) -> None:
        """Carry out one operation; the most frequent ones come first."""
        push = self._stack.append
        if name in _VALUES:
            push(argument)
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self._memo[argument] = self._top()
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            if argument not in self._memo:
                raise corrupt(f"it takes object {argument} of its memo before it is stored")
            push(self._memo[argument])
        elif name == "MARK":
            self._marks.append(len(self._stack))
        elif name in _TUPLES:
            push(tuple(self._popped(_TUPLES[name])))
        elif name in _CONSTANTS:
            push(_CONSTANTS[name])
        elif name in _EMPTY:
            push(_EMPTY[name]())
        elif name not in _IGNORED:
            if name == "GLOBAL":
                push(self._allowed.find(*argument))
            elif name in _STRINGS_OF_PYTHON_2:
                push(self._decoded(argument))
            else:
                _STEPS[name](self)

    def _decoded(self, text: str) -> Any:
        raw = text.encode("latin-1")
        try:
            return raw if self._encoding == "bytes" else raw.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise FormatError(
                f"a string of Python 2 is not {self._encoding} ({error}): try encoding='latin-1'"
            ) from None

    # -- the stack ---------------------------------------------------------------------------------

    def _top(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise corrupt("it takes an object where there is none")
        return self._stack[-1]

    def _pop(self) -> Any:
        self._top()
        return self._stack.pop()

    def _popped(self, count: int) -> list[Any]:
        floor = self._marks[-1] if self._marks else 0
        if len(self._stack) - floor < count:
            raise corrupt("it takes objects where there are none")
        taken = self._stack[-count:]
        del self._stack[-count:]
        return taken

    def _since_mark(self) -> list[Any]:
        if not self._marks:
            raise corrupt("it has no mark where it needs one")
        start = self._marks.pop()
        taken = self._stack[start:]
        del self._stack[start:]
        return taken

    # -- steps -------------------------------------------------------------------------------------

    def _tuple(self) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _list(self) -> None:
        self._stack.append(self._since_mark())

    def _dict(self) -> None:
        items = self._since_mark()
        self._stack.append({})
        self._set_items(items)

    def _frozenset(self) -> None:
        members = self._since_mark()
        checks = KeyChecks()
        for member in members:
            checks.check(member, 0, self._allowed.is_trusted)
        self._stack.append(frozenset(members))

    def _check_keys(self, keys: list[Any], container: Any) -> None:
        for key in keys:
            self._keys.check(key, id(container), self._allowed.is_trusted)

    def _append(self) -> None:
        self._extend([self._pop()])

    def _appends(self) -> None:
        self._extend(self._since_mark())

    def _extend(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not list and not self._allowed.is_trusted(target):
            raise corrupt(f"it appends to a {type(target).__name__}")
        target.extend(items)

    def _add_items(self) -> None:
        members = self._since_mark()
        target = self._top()
        if type(target) is not set:
            raise corrupt(f"it adds to a {type(target).__name__} as to a set")
        self._check_keys(members, target)
        target.update(members)

    def _set_item(self) -> None:
        self._set_items(self._popped(2))

    def _set_items_of_mark(self) -> None:
        self._set_items(self._since_mark())

    def _set_items(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) not in _DICTS and not self._allowed.is_trusted(target):
            raise corrupt(f"it sets items of a {type(target).__name__}")
        if len(items) % 2:
            raise corrupt("a key has no value")
        self._check_keys(items[::2], target)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def _stack_global(self) -> None:
        module, name = self._popped(2)
        if type(module) is not str or type(name) is not str:
            raise corrupt("a global is not named by strings")
        self._stack.append(self._allowed.find(module, name))

    def _reduce(self) -> None:
        function, args = self._popped(2)
        self._stack.append(self._allowed.call(function, self._checked_args(args)))

    def _newobj(self) -> None:
        cls, args = self._popped(2)
        self._stack.append(self._allowed.new(cls, self._checked_args(args)))

    def _checked_args(self, args: Any) -> tuple[Any, ...]:
        if type(args) is not tuple:
            raise corrupt(f"it calls something with a {type(args).__name__} for arguments")
        return args

    def _build(self) -> None:
        state = self._pop()
        self._allowed.build(self._top(), state)

    def _persistent(self) -> None:
        self._stack.append(self._persistent_load(self._pop()))

    def _memoize(self) -> None:
        self._memo[len(self._memo)] = self._top()

    def _duplicate(self) -> None:
        self._stack.append(self._top())

    def _drop(self) -> None:
        if self._marks and len(self._stack) == self._marks[-1]:
            self._marks.pop()
        else:
            self._pop()


_STEPS: Final[dict[str, Callable[[_Machine], Any]]] = {
    "TUPLE": _Machine._tuple,
    "LIST": _Machine._list,
    "DICT": _Machine._dict,
    "FROZENSET": _Machine._frozenset,
    "APPEND": _Machine._append,
    "APPENDS": _Machine._appends,
    "ADDITEMS": _Machine._add_items,
    "SETITEM": _Machine._set_item,
    "SETITEMS": _Machine._set_items_of_mark,
    "STACK_GLOBAL": _Machine._stack_global,
    "REDUCE": _Machine._reduce,
    "NEWOBJ": _Machine._newobj,
    "BUILD": _Machine._build,
    "BINPERSID": _Machine._persistent,
    "MEMOIZE": _Machine._memoize,
    "DUP": _Machine._duplicate,
    "POP": _Machine._drop,
    "POP_MARK": _Machine._since_mark,
}


def _read_names(stream: IO[bytes]) -> tuple[str, str]:
    """Return the module and the name of a global, which stand on two lines."""
    lines = [stream.readline(), stream.readline()]
    if not all([line.endswith(b"\n") for line in lines]):
        raise ValueError("the name of a global has no end")
    module, name = [line[:-1].decode() for line in lines]
    return module, name


def _spelling(code: bytes) -> str:
    for opcode in pickletools.opcodes:
        if opcode.code.encode("latin-1") == code:
            return f"the opcode {opcode.name}"
    return f"the byte {code!r} for an opcode" if code else "no end"


_KNOWN: Final = {
    "STOP", "MARK", "GLOBAL", "BINPUT", "LONG_BINPUT", "PUT", "BINGET", "LONG_BINGET", "GET",
    *_VALUES, *_STRINGS_OF_PYTHON_2, *_CONSTANTS, *_EMPTY, *_TUPLES, *_IGNORED, *_STEPS,
}  # fmt: skip
_OPCODES: Final[dict[bytes, tuple[str, Callable[[IO[bytes]], Any] | None]]] = {
    opcode.code.encode("latin-1"): (opcode.name, opcode.arg.reader if opcode.arg else None)
    for opcode in pickletools.opcodes
    if opcode.name in _KNOWN
}
_OPCODES[b"c"] = "GLOBAL", _read_names
