"""`_DispatchModule`: the registrations of one TORCH_LIBRARY block, as PyTorch's tests of its
dispatcher make them from Python.

Unlike a `Library` it owns what it registered: that is taken back with it, and the same code run
again replaces nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

from dovetail_kernel import DispatchKey, parse_dispatch_key
from dovetail_kernel.errors import calling_frame

from ..schema import FunctionSchema
from ..table import registry
from ..table.kernels import BOXED, FALLTHROUGH, TENSOR, Kernel, fallthrough_kernel
from ..table.registrars import Registrar
from ..table.tags import Tag, checked_tags
from ..table.updates.backend_fallbacks import add_fallback
from ..table.updates.changes import Change, take_back, together
from ..table.updates.definitions import define
from ..table.updates.kernel_registration import add_kernel
from .library_checks import KINDS, check_kind, kernel_key, operator_name, parse_schema_of
from .namespace_owners import own_namespace
from .registration_checks import check_registration

ALIAS_KINDS: Final = ("CONSERVATIVE", "FROM_SCHEMA", "PURE_FUNCTION")


class _Once(Registrar):
    """The code that made a module; it replaces nothing when it runs again."""

    def replaces(self, earlier: Registrar | None) -> bool:
        """Return False."""
        return False


class _DispatchModule:
    """A handle on registrations in one namespace; see `_dispatch_library`."""

    def __init__(self, kind: str, name: str, dispatch: str, file: str, linenum: int) -> None:
        self._made_at = f"{file}:{linenum}"
        if kind not in KINDS:
            raise RuntimeError(f"could not parse {kind}. Choose from {', '.join(KINDS)}.")
        check_kind(name, kind, dispatch, self._made_at)
        self._ns = name
        self._kind = kind
        self._key = parse_dispatch_key(dispatch) if dispatch else None
        self._changes: list[Change] = []
        if kind == "DEF":
            own_namespace(
                name, self._made_at, _Once(calling_frame(), weakref.ref(self)), self._changes
            )
        weakref.finalize(self, take_back, self._changes).atexit = False

    def reset(self) -> None:
        """Take back everything that was registered with this module."""
        take_back(self._changes)

    # -- definitions -------------------------------------------------------------------------------

    def def_(self, schema: str, alias: str = "") -> Self:
        """Define an operator; returns self.

        Parameters
        ----------
        schema
            As `Library.define`.
        alias
            What is known of aliases: "CONSERVATIVE", "FROM_SCHEMA" (the default) or
            "PURE_FUNCTION".

        Raises
        ------
        RuntimeError
            For a malformed schema, a duplicate, another namespace, a module of kind IMPL, an
            unknown `alias`, or a kernel that cannot have the schema.
        """
        if alias and alias not in ALIAS_KINDS:
            raise RuntimeError(f"could not parse {alias}. Choose from {', '.join(ALIAS_KINDS)}.")
        self._define(schema, alias or "FROM_SCHEMA")
        return self

    def def_legacy(self, schema: str) -> Self:
        """Define an operator of which nothing is known of aliases; returns self."""
        self._define(schema, "CONSERVATIVE (default)")
        return self

    def define(self, schema: str, alias_analysis: str = "", tags: Sequence[Tag] = ()) -> str:
        """Define an operator, and return its name without overload."""
        self._define(schema, alias_analysis or "FROM_SCHEMA", tags)
        return schema.partition("(")[0].partition(".")[0].strip()

    def def_name_t_t(
        self, name: str, dispatch: str = "", debug: str = "default_def_name_t_t"
    ) -> Self:
        """Define an operator of one tensor, without schema, with a kernel that returns it."""
        with together(self._changes):
            self._define(f"{name}(Tensor _0) -> Tensor _0", "CONSERVATIVE")
            self.impl_t_t(name, dispatch, debug)
        return self

    def def_schema_t_t(
        self, name: str, dispatch: str = "", alias: str = "", debug: str = "default_def_schema_t_t"
    ) -> Self:
        """Define an operator by the schema `name`, with a kernel that returns its only tensor."""
        with together(self._changes):
            self.def_(name, alias)
            self.impl_t_t(name.partition("(")[0].strip(), dispatch, debug)
        return self

    # -- kernels -----------------------------------------------------------------------------------

    def impl_t_t(self, name: str, dispatch: str = "", debug: str = "impl_t_t") -> Self:
        """Register a kernel that returns its only tensor; returns self.

        Parameters
        ----------
        name
            The operator, which may be defined later.
        dispatch
            Default: the module's key, then CompositeImplicitAutograd.
        debug
            How dumps name the kernel.

        Raises
        ------
        RuntimeError
            For a wrong name, key or namespace, or a schema that the kernel cannot have.
        """
        self._impl(name, dispatch, _identity(debug), TENSOR)
        return self

    def impl(
        self,
        name: str,
        dispatch: DispatchKey | str,
        func: Callable[..., object],
        with_keyset: bool = False,
    ) -> None:
        """Register a kernel; see `Library.impl`."""
        convention = FALLTHROUGH if func is fallthrough_kernel else TENSOR
        self._impl(name, _key_name(dispatch), func, convention, with_keyset=with_keyset)

    # -- fallbacks ---------------------------------------------------------------------------------

    def fallback_fallthrough(self, dispatch: str = "") -> Self:
        """Have calls of operators without kernel pass over a key; returns self."""
        self.fallback(dispatch, fallthrough_kernel)
        return self

    def fallback(
        self, dispatch: DispatchKey | str, func: Callable[..., object], with_keyset: bool = False
    ) -> None:
        """Register what runs operators without kernel at a key; see `Library.fallback`.

        Raises
        ------
        RuntimeError
            On a module that is not of kind IMPL in the namespace ``"_"``, without a key, or for one
            that has a fallback.
        """
        name = _key_name(dispatch)
        if self._ns != "_":
            raise RuntimeError(
                "fallback(...): Fallback functions which apply to only a single namespace (you "
                f"specified {self._ns}) are not supported. Make one for all: kind IMPL, namespace "
                f'"_", at {self._made_at}.'
            )
        key = parse_dispatch_key(name) if name else self._key
        if key is None:
            raise RuntimeError(
                f"dispatch_key.has_value(): a fallback needs a key, at {self._made_at}. Give one."
            )
        convention = FALLTHROUGH if func is fallthrough_kernel else BOXED
        made_at = self._made_at  # the module itself would be kept alive by what it registered
        add_fallback(
            key,
            lambda each: Kernel(func, each, convention, made_at, with_keyset=with_keyset),
            self._changes,
        )

    # -- what they share ---------------------------------------------------------------------------

    def _define(self, schema: str, alias: str, tags: Sequence[Tag] = ()) -> None:
        if self._kind == "IMPL":
            raise RuntimeError(
                f'def("{schema.partition("(")[0]}"): Cannot define an operator inside of a '
                f"TORCH_LIBRARY_IMPL block, made at {self._made_at}. Use kind DEF or FRAGMENT."
            )
        if "(" not in schema:
            raise RuntimeError(
                "Tried to parse a function schema but only the operator name was given: "
                f"{schema}. Write its arguments and results."
            )
        parsed = parse_schema_of(self._ns, schema, self._made_at)
        try:
            define(parsed, self._made_at, self._changes, tags=checked_tags(tags), alias=alias)
        except TypeError as error:
            raise _mismatch(parsed, error) from None

    def _impl(
        self,
        op_name: str,
        dispatch: str,
        fn: Callable[..., object],
        convention: str,
        *,
        with_keyset: bool = False,
    ) -> None:
        name, overload = operator_name(op_name, self._ns, self._made_at)
        key = kernel_key(dispatch, name, self._key, self._made_at)
        kernel = Kernel(fn, key, convention, self._made_at, with_keyset=with_keyset)
        op = registry.find(name, overload)
        qualified = f"{name}.{overload}" if overload else name
        try:
            check_registration(kernel, op, qualified, allow_override=True)
        except TypeError as error:
            raise _mismatch(op.schema if op is not None else None, error) from None
        add_kernel(name, overload, kernel, self._changes)


def _dispatch_library(
    kind: str, name: str, dispatch: str, file: str = "/dev/null", linenum: int = 0
) -> _DispatchModule:
    """Return a new handle on registrations in one namespace.

    Parameters
    ----------
    kind
        "DEF" owns the namespace, "FRAGMENT" adds definitions, "IMPL" adds kernels only.
    name
        The namespace; ``"_"`` (with "IMPL") means all namespaces, for fallbacks.
    dispatch
        Key of what is registered without one; empty, or only with "IMPL".
    file, linenum
        Where messages and dumps say that it was registered.

    Returns
    -------
    _DispatchModule
        It owns what is registered with it: that goes with it, or by `reset`.

    Raises
    ------
    RuntimeError
        For an unknown kind or key, a key with another kind than "IMPL", ``"_"`` without it, or a
        second DEF of a namespace.
    """
    return _DispatchModule(kind, name, dispatch, file, linenum)


def _identity(debug: str) -> Callable[[Any], Any]:
    def kernel(_0: object) -> Any:
        return _0

    kernel.__name__ = kernel.__qualname__ = debug
    kernel.__module__ = ""
    return kernel


def _key_name(key: DispatchKey | str) -> str:
    return key if isinstance(key, str) else key.name


def _mismatch(schema: FunctionSchema | None, error: TypeError) -> RuntimeError:
    return RuntimeError(
        "Inferred operator schema for a kernel function doesn't match the expected function "
        f"schema {schema}: {error}"
    )
