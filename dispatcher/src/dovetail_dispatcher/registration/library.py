"""`Library`: registers the operators and kernels of a namespace, and takes them back."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import DispatchKey, parse_dispatch_key, plugin_manager
from dovetail_kernel.errors import calling_frame, where
from dovetail_kernel.plugins import LIBRARIES

from ..calls.overloads import OpOverload
from ..table import registry
from ..table.kernels import ARRAY, BOXED, FALLTHROUGH, TENSOR, Kernel, fallthrough_kernel, origin
from ..table.registrars import Registrar
from ..table.tags import Tag, checked_tags
from ..table.updates.backend_fallbacks import add_fallback
from ..table.updates.changes import Change, take_back
from ..table.updates.definitions import define
from ..table.updates.kernel_registration import add_kernel
from .library_checks import check_kind, kernel_key, operator_name, parse_schema_of
from .namespace_owners import own_namespace
from .registration_checks import check_condition, check_registration

_used_namespaces: Final[set[str]] = set()
"""Namespaces that plugins with kernels for them have been told of."""


def _leave(qualified: str) -> None:
    """Forget a namespace with its last operator."""
    namespace = qualified.partition("::")[0]
    if namespace in _used_namespaces and not registry.defines_in(namespace):
        _used_namespaces.discard(namespace)
        plugin_manager.mark_unused(LIBRARIES, namespace)


registry.definition_observers.append(_leave)


class Library:
    """A handle for registrations in one namespace.

    Registrations stay when the library object is garbage-collected; `_destroy` and
    `_scoped_library` remove them. Code that runs again (a reloaded module, a notebook cell)
    replaces its earlier registrations.

    Parameters
    ----------
    ns
        The namespace; ``"_"`` (with "IMPL") means all namespaces, for fallbacks.
    kind
        "DEF" owns the namespace, "FRAGMENT" adds definitions to it, "IMPL" adds kernels only.
    dispatch_key
        Default key of kernels; only with "IMPL".

    Raises
    ------
    ValueError
        For an unknown kind, or a reserved namespace.
    RuntimeError
        For a second DEF of a namespace by other code, an unknown key, a key with DEF or FRAGMENT,
        or ``"_"`` without IMPL.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        plugin = plugin_manager.loading()
        frame = calling_frame()
        location = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        made_at = origin(location, plugin)
        check_kind(ns, kind, dispatch_key, made_at)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self.location = location
        self._made_at = made_at
        self._plugin = plugin
        self._key = parse_dispatch_key(dispatch_key) if dispatch_key else None
        self._weak = weakref.ref(self)
        self._registrar = self._definer = Registrar(frame, self._weak)
        self._is_proven = False
        self._changes: list[Change] = []
        if kind == "DEF":
            own_namespace(ns, made_at, self._registrar, self._changes)
        self._destroyed = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    # -- definitions -------------------------------------------------------------------------------

    def define(
        self,
        schema: str,
        alias_analysis: str = "",
        *,
        tags: Tag | Sequence[Tag] = (),
        override: bool = False,
    ) -> str:
        """Define an operator, and return its name as written, without the overload.

        Parameters
        ----------
        schema
            ``"name.overload(Tensor x, int n=1) -> Tensor"``; the namespace may be omitted.
        alias_analysis
            "", "FROM_SCHEMA" or "CONSERVATIVE"; only shown in dumps.
        tags
            Properties of the operator.
        override
            Replace a definition by other code, with its registrations, until this library is
            destroyed.

        Raises
        ------
        RuntimeError
            For a malformed schema, a duplicate, another namespace, an IMPL library, or an unknown
            `alias_analysis`.
        TypeError
            If `schema` is not a str or a tag is not a Tag, or if an already registered kernel does
            not match the schema.
        """
        self._check_alive()
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(
                f"Invalid alias_analysis type {alias_analysis}. Choose from '', FROM_SCHEMA, "
                "CONSERVATIVE."
            )
        if not isinstance(schema, str):
            raise TypeError(
                f"define(): schema must be a str, not {type(schema).__name__}. Give one such as "
                "'f(Tensor x) -> Tensor'."
            )
        checked = checked_tags(tags)
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{schema.partition("(")[0]}"): Cannot define an '
                "operator inside of a TORCH_LIBRARY_IMPL block, "
                f'made at {self._made_at}. Use a library of kind "DEF" or "FRAGMENT".'
            )
        frame = calling_frame()
        here = origin(f"{frame.f_code.co_filename}:{frame.f_lineno}", self._plugin)
        parsed = parse_schema_of(self.ns, schema, here)
        registrar = self._definer
        if registrar.code is not frame.f_code:
            registrar = self._definer = Registrar(frame, self._weak)
        define(
            parsed,
            here,
            self._changes,
            tags=checked,
            registrar=registrar,
            override=override,
            alias=alias_analysis or "FROM_SCHEMA",
        )
        if self.ns not in _used_namespaces and self._plugin is None:
            _used_namespaces.add(self.ns)
            plugin_manager.mark_in_use(LIBRARIES, self.ns)
        return schema.partition("(")[0].strip().partition(".")[0]

    # -- kernels -----------------------------------------------------------------------------------

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., object],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
        backend: str | None = None,
        when: Callable[..., object] | None = None,
        why: str = "",
    ) -> None:
        """Register a kernel that takes and returns tensors.

        Parameters
        ----------
        op_name
            ``"f"``, ``"f.overload"``, ``"ns::f"``, or an `OpOverload`.
        fn
            The kernel; `fallthrough_kernel` makes calls skip the key.
        dispatch_key
            Default: the key of the library, or "CompositeImplicitAutograd".
        with_keyset
            `fn` gets the call's DispatchKeySet first.
        allow_override
            False: raise an error if a library has registered a kernel for the same operator and
            key.
        backend
            A device type, instead of a key. It may be registered later; until then, `check_pending`
            lists the kernel.
        when
            The condition, at a key of a backend: ``when(*args, **kwargs)``, with all arguments of
            the call. If it is false, the call falls through to the previously registered kernel. It
            must not write to its arguments. Default: the kernel gets every call.
        why
            The condition in words, for `explain`: ``"float32, contiguous"``.

        Raises
        ------
        TypeError
            If `fn` is not callable, or if its parameters do not match the schema; if only one of
            `when` and `why` is passed.
        RuntimeError
            For a wrong name, key or namespace, a Meta kernel for an operator with a
            CompositeImplicitAutograd kernel, or an override that is not allowed.

        Notes
        -----
        A reloaded function (also from a notebook cell) replaces its earlier version. Another
        function overrides it, with a warning once per process, until the library of the override is
        destroyed.
        """
        convention = FALLTHROUGH if fn is fallthrough_kernel else TENSOR
        self._impl(
            op_name,
            fn,
            dispatch_key,
            convention,
            with_keyset=with_keyset,
            allow_override=allow_override,
            backend=backend,
            when=when,
            why=why,
        )

    def array_impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., object],
        dispatch_key: str = "",
        *,
        fast_path: Callable[..., object] | None = None,
        out_function: Callable[..., object] | None = None,
        general_out_function: Callable[..., object] | None = None,
        allow_override: bool = True,
        backend: str | None = None,
        when: Callable[..., object] | None = None,
        why: str = "",
    ) -> None:
        """Register a kernel that takes and returns the backend's own arrays.

        The route unwraps and wraps tensors, and handles ``out=``, in-place variants, aliases and
        versions according to the schema.

        Parameters
        ----------
        op_name, fn, dispatch_key, allow_override, backend
            As for `impl`; `fn` has the schema's parameters, keyword-only ones by keyword, with
            arrays for tensors. It must not write to its arguments.
        fast_path
            A faster callable that takes only the tensor arguments; used if all other arguments have
            their defaults.
        out_function
            A callable ``(*arrays, out=array)`` that writes its result into `out`, such as a NumPy
            ufunc; used by in-place variants if all other arguments have their defaults.
        general_out_function
            The same with all parameters of `fn`, for other values of the arguments.
        when, why
            As for `impl`. The condition gets the arrays of the call before promotion, and Python
            numbers unchanged.

        Raises
        ------
        TypeError, RuntimeError
            As `impl`.
        """
        self._impl(
            op_name,
            fn,
            dispatch_key,
            ARRAY,
            fast_path=fast_path,
            out_function=out_function,
            general_out_function=general_out_function,
            allow_override=allow_override,
            backend=backend,
            when=when,
            why=why,
        )

    def _impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., object],
        dispatch_key: str,
        convention: str,
        *,
        allow_override: bool = True,
        backend: str | None = None,
        when: Callable[..., object] | None = None,
        why: str = "",
        with_keyset: bool = False,
        **functions: Callable[..., Any] | None,
    ) -> None:
        self._check_alive()
        for what in (fn, *functions.values()):
            if what is not None and not callable(what):
                raise TypeError(
                    "Input function is required to be a callable but found type "
                    f"{type(what).__name__}. Give a function."
                )
        location = where()
        here = origin(location, self._plugin)
        name, overload = operator_name(op_name, self.ns, here)
        qualified = f"{name}.{overload}" if overload else name
        check_condition(fn, when, why, qualified)

        def register(key: DispatchKey, owner: list[Change]) -> None:
            kernel = Kernel(
                fn,
                key,
                convention,
                location,
                with_keyset=with_keyset,
                plugin=self._plugin,
                registrar=self._registrar,
                is_proven=self._is_proven,
                when=when,
                why=why,
                **functions,
            )
            check_registration(
                kernel, registry.find(name, overload), qualified, allow_override=allow_override
            )
            add_kernel(name, overload, kernel, owner)

        if backend is None:
            register(kernel_key(dispatch_key, name, self._key, here), self._changes)
            return
        if dispatch_key or self._key is not None:
            raise RuntimeError(
                f'impl("{name}", ...): give either a dispatch key '
                f"({dispatch_key or self.dispatch_key}) or backend={backend!r}, not both."
            )
        from ..table.updates.pending import register_when_there  # few kernels wait

        register_when_there(backend, qualified, here, register, self._changes)

    def fallback(
        self, fn: Callable[..., object], dispatch_key: str = "", *, with_keyset: bool = False
    ) -> None:
        """Register `fn` for every operator without a kernel at a key: ``fn(op, *args, **kwargs)``.

        Parameters
        ----------
        fn
            The fallback; with `with_keyset` it gets the DispatchKeySet before the operator.
            `fallthrough_kernel` makes calls skip the key.
        dispatch_key
            Default: the key of the library. An alias key means all its runtime keys.

        Raises
        ------
        RuntimeError
            If the library is not ``Library("_", "IMPL")``, or if the key already has a fallback.
        AssertionError
            Without a key.
        """
        self._check_alive()
        if self.ns != "_":
            raise RuntimeError(
                "Fallback can only be registered using library fragment on the global namespace "
                f'"_" but it is {self.ns}. Make one: Library("_", "IMPL").'
            )
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn).__name__}."
            )
        name = dispatch_key or self.dispatch_key
        if not name:
            raise AssertionError("dispatch_key must not be empty. Give one to the library.")
        key, location = parse_dispatch_key(name), where()
        convention = FALLTHROUGH if fn is fallthrough_kernel else BOXED
        add_fallback(
            key,
            lambda k: Kernel(
                fn, k, convention, location, with_keyset=with_keyset, plugin=self._plugin
            ),
            self._changes,
        )

    # -- life --------------------------------------------------------------------------------------

    def _destroy(self) -> None:
        """Take back everything that was registered with this library; a second time does
        nothing.
        """
        self._destroyed = True
        try:
            take_back(self._changes)
        except BaseException:  # an interrupt: half a library is none
            take_back(self._changes)
            raise

    def _check_alive(self) -> None:
        if self._destroyed:
            made = f"{self!r} made at {self._made_at}"
            raise AssertionError(f"Library object has been destroyed: {made}. Make a new one.")
