"""CustomOpDef: an operator made of one Python function, on which more can be registered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NoReturn, Self

from dovetail_kernel import (
    DecoratingGuard,
    Device,
    DispatchKey,
    DispatchKeySet,
    dispatch_key_for_device,
    dtype,
    get_default_device,
    warn_user,
)
from dovetail_kernel.errors import where

from ..calls.overloads import OpOverload
from ..calls.python_signatures import LateSignature, signature_as_called
from ..schema import FunctionSchema, bind
from ..table import registry
from ..table.derivative_formula import PythonFormula
from ..table.kernel_signatures import check_kernel
from ..table.kernels import COUNT_WRITES, CUSTOM, FAKE, TENSOR, Kernel
from ..table.tags import Tag
from ..table.updates.kernel_registration import KernelChange, add_kernel
from ..table.updates.rule_registration import (
    BatchingChange,
    RegisteredDerivative,
    set_batching_rule,
    set_derivative_formula,
    set_torch_dispatch_rule,
)
from .autocast import checked_cast
from .batching_rules import checked_rule
from .custom_op_checks import (
    check_callable,
    check_differentiable,
    check_formula,
    check_torch_dispatch_class,
)
from .library import Library
from .registration_checks import check_meta

DeviceTypes = str | Sequence[str] | None


class CustomOpDef:
    """The result of `custom_op`: a callable operator with methods that register further kernels and
    its derivative.

    Each instance has its own class, whose ``__call__`` is the operator's entry, so that a call has
    no extra overhead.
    """

    _opoverload: OpOverload

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return super().__new__(type("CustomOpDef", (cls,), {"__module__": cls.__module__}))

    def __init__(
        self,
        schema: FunctionSchema,
        fn: Callable[..., object],
        tags: Sequence[Tag],
        device_types: DeviceTypes,
        override: bool = False,
    ) -> None:
        self._namespace, _, self._name = schema.name.partition("::")
        self._schema = str(schema)
        self._tags, self._init_fn = tuple(tags), fn
        self.__name__ = self._name
        own: Any = type(self)
        own.__doc__, own.__signature__ = fn.__doc__, LateSignature(signature_as_called, fn, schema)
        self._backend_fns: dict[str | None, Callable[..., Any]] = {}
        self._disabled_kernel: set[str] = set()
        self._abstract_fn: Callable[..., Any] | None = None
        self._changes: dict[str, KernelChange | RegisteredDerivative | BatchingChange] = {}
        self._lib = Library(self._namespace, "FRAGMENT")
        try:
            self._lib.define(str(schema), tags=self._tags, override=override)
            operator = registry.find_or_throw(schema.name, schema.overload_name)
            self._operator = operator
            self._definition = operator.definition
            self._opoverload = operator.handle
            own.__call__ = staticmethod(type(self._opoverload).__call__)
            self.register_kernel(device_types)(fn)
            self._register("Meta", _trivial_fake(schema, self._tags) or self._missing_fake, TENSOR)
            if Tag.out not in self._tags:  # the Autograd fallback refuses what has out= arguments
                self._set_derivative_formula(partial(_missing_formula, self._opoverload), None)
            if schema.is_mutable:
                self._register("ADInplaceOrView", _count_writes, COUNT_WRITES)
        except BaseException:
            self._lib._destroy()
            raise

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    # -- kernels -----------------------------------------------------------------------------------

    def register_kernel(
        self, device_types: DeviceTypes, fn: Callable[..., object] | None = None, /
    ) -> Any:
        """Register the implementation for some device types; usable as a decorator.

        Parameters
        ----------
        device_types
            One or several of "cpu", "cuda", ...; None for every device.
        fn
            The implementation. It replaces an earlier one for the same device type.

        Raises
        ------
        RuntimeError
            For an unknown device type.
        ValueError
            If no argument determines the device: the operator has neither a tensor nor ``device``.
        """
        types = (
            [device_types]
            if device_types is None or isinstance(device_types, str)
            else list(device_types)
        )

        def register(fn: Callable[..., object]) -> Callable[..., Any]:
            check_callable(fn)
            keys = [
                "CompositeExplicitAutograd" if each is None else dispatch_key_for_device(each).name
                for each in types
            ]
            if any([each is not None for each in types]):
                self._select_by_device()
            for device_type, key in zip(types, keys, strict=True):
                disabled = device_type is not None and device_type in self._disabled_kernel
                self._register(key, self._init_fn if disabled else fn, CUSTOM)
                self._backend_fns[device_type] = fn
            return fn

        return register if fn is None else register(fn)

    def set_kernel_enabled(
        self, device_type: str, enabled: bool = True
    ) -> AbstractContextManager[None]:
        """Return a context manager that enables or disables the kernel of `device_type`; if it is
        disabled, the decorated function runs.
        """
        return _Enabled(self, device_type, enabled)

    def _enable(self, device_type: str, enabled: bool) -> None:
        (self._disabled_kernel.discard if enabled else self._disabled_kernel.add)(device_type)
        fn = self._backend_fns[device_type] if enabled else self._init_fn
        self._register(dispatch_key_for_device(device_type).name, fn, CUSTOM)

    def register_fake(self, fn: Callable[..., object], /) -> Callable[..., Any]:
        """Register the fake kernel, which runs for meta tensors: it returns results of the right
        shape and dtype without data.
        """
        check_callable(fn)
        self._register("Meta", fn, FAKE)
        self._abstract_fn = fn
        return fn

    def _missing_fake(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"There was no fake impl registered for {self!r}. This is necessary for calls with "
            f"meta tensors. Please use `{self._name}.register_fake` to add an fake impl."
        )

    def _select_by_device(self) -> None:
        """Give an operator without tensors a kernel that goes by its ``device``; None is the
        default device.
        """
        schema = self._operator.schema
        if any([a.is_tensor_like for a in schema.arguments]) or "BackendSelect" in self._changes:
            return
        position = next(
            iter([i for i, a in enumerate(schema.arguments) if a.name == "device"]), None
        )
        if position is None:
            raise ValueError(
                "Functions without tensor inputs are required to have a `device: torch.device` "
                f"argument: {schema}. "
                "Add one, or register the function for every device with device_types=None."
            )

        def select(_keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
            device = bind(schema, args, kwargs)[position]
            device_type = (get_default_device() if device is None else Device(device)).type
            if device_type not in self._backend_fns:
                raise RuntimeError(
                    f"{self._name} does not have a kernel registered for {device_type}. Please use "
                    "register_kernel to do so. It has kernels for: "
                    f"{', '.join(filter(None, self._backend_fns)) or 'no device'}."
                )
            keys = DispatchKeySet(dispatch_key_for_device(device_type))
            return self._opoverload.redispatch(keys, *args, **kwargs)

        self._register("BackendSelect", select, TENSOR, with_keyset=True)

    # -- derivative --------------------------------------------------------------------------------

    def register_autograd(
        self,
        backward: Callable[..., object],
        /,
        *,
        setup_context: Callable[..., None] | None = None,
    ) -> None:
        """Register the derivative of the operator; replaces an earlier one.

        Parameters
        ----------
        backward
            ``backward(ctx, *grads)``, returning one gradient (or None) per argument.
        setup_context
            ``setup_context(ctx, inputs, output)``, which saves what backward needs.

        Raises
        ------
        RuntimeError
            For an operator that writes to its arguments or returns nothing.
        NotImplementedError
            If the schema has keyword-only tensors.
        """
        check_differentiable(self._operator.schema, repr(self), views=True)
        check_formula(self._operator.schema, repr(self), backward, setup_context)
        self._set_derivative_formula(backward, setup_context)

    def _set_derivative_formula(
        self, backward: Callable[..., object], setup_context: Callable[..., None] | None
    ) -> None:
        op = self._operator
        formula = PythonFormula(
            f"{op.name}.{op.overload or 'default'}", backward, setup_context, where()
        )
        with registry.lock:
            if not self._exchange("formula", formula):
                owner = self._lib._changes
                self._changes["formula"] = set_derivative_formula(
                    op.name, op.overload, formula, owner
                )

    def register_autocast(self, device_type: str, cast_inputs: dtype, /) -> None:
        """Register the autocast rule of the operator; see `dovetail.library.register_autocast`."""
        key, kernel = checked_cast(self._operator, device_type, cast_inputs)
        self._register(key, kernel, TENSOR)

    def register_torch_dispatch(
        self, torch_dispatch_class: type, fn: Callable[..., object] | None = None, /
    ) -> Callable[..., Any]:
        """Register the rule of a mode or Tensor subclass for the operator; see
        `dovetail.library.register_torch_dispatch`.
        """
        op = self._operator
        check_torch_dispatch_class(torch_dispatch_class, op.qualified_name)

        def register(fn: Callable[..., object]) -> Callable[..., Any]:
            check_callable(fn)
            set_torch_dispatch_rule(
                op.name, op.overload, torch_dispatch_class, fn, self._lib._changes
            )
            return fn

        return register if fn is None else register(fn)

    # -- batches -----------------------------------------------------------------------------------

    def register_vmap(self, func: Callable[..., object] | None = None, /) -> Any:
        """Register how `vmap` calls the operator on a whole batch; usable as a decorator.

        Parameters
        ----------
        func
            ``func(info, in_dims, *args)`` returns ``(outputs, out_dims)``, as for
            `dovetail.library.register_vmap`. It replaces an earlier rule.
        """

        def register(fn: Callable[..., object]) -> Callable[..., Any]:
            op = self._operator
            rule = checked_rule(op, fn, where())
            with registry.lock:
                if not self._exchange("vmap", rule):
                    owner = self._lib._changes
                    self._changes["vmap"] = set_batching_rule(op.name, op.overload, rule, owner)
            return fn

        if func is None:
            return register
        register(func)
        return None

    # -- registering -------------------------------------------------------------------------------

    def _register(
        self, key: str, fn: Callable[..., object], convention: str, *, with_keyset: bool = False
    ) -> None:
        """Put a kernel in place of the one that this operator had at `key`, beneath those that
        others have registered since.
        """
        self._lib._check_alive()
        op = self._operator
        kernel = Kernel(
            fn,
            DispatchKey[key],
            convention,
            where(),
            with_keyset=with_keyset,
            plugin=self._lib._plugin,
            registrar=self._lib._registrar,
        )
        if convention != COUNT_WRITES:
            check_kernel(kernel, op.schema, op.qualified_name)
        with registry.lock:
            if not self._exchange(key, kernel):
                if kernel.key is DispatchKey.Meta:
                    check_meta(op, op.qualified_name)
                owner = self._lib._changes
                self._changes[key] = add_kernel(op.name, op.overload, kernel, owner)

    def _exchange(self, what: str, value: Any) -> bool:
        """Put `value` in place of what this operator has registered as `what`, beneath what
        others have registered since; return False if there was none, or it was taken back.
        """
        before = self._changes.get(what)
        return before is not None and before.is_live and before.exchange(value)


class _Enabled(DecoratingGuard):
    """A kernel of a custom operator in use, or not, for a block."""

    def __init__(self, op: CustomOpDef, device_type: str, enabled: bool) -> None:
        self._op = op
        self._device_type = device_type
        self._wanted = enabled

    def save(self) -> bool | None:
        """Return whether the kernel is in use; None if there is none."""
        if self._device_type not in self._op._backend_fns:
            return None
        return self._device_type not in self._op._disabled_kernel

    def change(self) -> None:
        """Use it, or do not."""
        if self.save() is not None:
            self._op._enable(self._device_type, self._wanted)
            return
        warn_user(
            f"Attempted to {'enable' if self._wanted else 'disable'} kernel for "
            f"{self._device_type} but no kernel was registered for this device type of "
            f"{self._op._qualname}. Register one with register_kernel."
        )

    def restore(self, saved: bool | None) -> None:
        """Do as before."""
        if saved is not None:
            self._op._enable(self._device_type, saved)


def _trivial_fake(schema: FunctionSchema, tags: Sequence[Tag]) -> Callable[..., Any] | None:
    """Return the fake that an operator needs no help for: nothing is returned, or the written
    arguments are, as its tag says.
    """
    if schema.is_mutable and not schema.returns:
        return lambda *_args, **_kwargs: None
    if Tag.inplace not in tags and Tag.out not in tags:
        return None
    written = [i for i, a in enumerate(schema.arguments) if a.is_write]

    def fake(*args: Any, **kwargs: Any) -> Any:
        values = bind(schema, args, kwargs)
        returned = tuple(values[i] for i in written)
        return returned[0] if len(returned) == 1 else returned

    return fake


def _count_writes(*_args: Any) -> None:
    """Stand for the kernel that counts writes, which is composed and never called."""


def _missing_formula(op: OpOverload, *_args: Any) -> NoReturn:
    raise RuntimeError(
        f"Trying to backward through {op} but no autograd formula was registered. Please use "
        "register_autograd to add one."
    )
