"""The state of a module as a dictionary of tensors: ``state_dict`` and ``load_state_dict``."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import restoring, warn_user

from ...parameter import Parameter, is_lazy
from .hooks import Hook, ModuleHooks, RemovableHandle, add_hook
from .loading import Loading, _IncompatibleKeys
from .traversal import Traversal

if TYPE_CHECKING:
    from .module_class import Module

EXTRA_STATE_KEY = "_extra_state"


class State(Traversal):
    """Saving and loading parameters, persistent buffers and extra state."""

    _version: int = 1
    _non_persistent_buffers_set: set[str]
    _hooks: ModuleHooks | None = None
    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    def _own_hooks(self) -> ModuleHooks:
        if self._hooks is None:
            self._hooks = ModuleHooks()
        return self._hooks

    def _state_hooks(self, kind: str) -> tuple[Hook, ...]:
        return () if self._hooks is None else tuple(getattr(self._hooks, kind).values())

    def get_extra_state(self) -> Any:
        """Return picklable extra state to put into the state dict; override together with
        `set_extra_state`.
        """
        raise RuntimeError(
            f"{type(self).__name__} has no extra state. Define get_extra_state and "
            "set_extra_state to save some."
        )

    def set_extra_state(self, state: object) -> None:
        """Take back what `get_extra_state` returned; override together with it."""
        raise RuntimeError(
            f"{type(self).__name__} has no extra state. Define get_extra_state and "
            "set_extra_state to load some."
        )

    def state_dict(
        self,
        *args: Any,
        destination: OrderedDict[str, object] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> OrderedDict[str, Any]:
        """Return all parameters and persistent buffers, and extra state, by dotted name.

        Parameters
        ----------
        *args
            The others by position; deprecated.
        destination : OrderedDict, optional
            Filled and returned instead of a new one.
        prefix : str, default ''
            Put before every name.
        keep_vars : bool, default False
            Return the parameters themselves; otherwise detached tensors that share their memory.

        Returns
        -------
        OrderedDict
            Its attribute ``_metadata`` holds every module's version.
        """
        this = cast("Module", self)
        if args:
            destination, prefix, keep_vars = _positional(args, destination, prefix, keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # type: ignore[attr-defined]
        local_metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_hooks("state_dict_pre"):
            hook.function(this, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_hooks("state_dict_post"):
            result = hook.function(this, destination, prefix, local_metadata)
            if result is None:
                continue
            if not hook.may_replace:
                raise RuntimeError(
                    "state_dict post-hook must return None. Change the state dict in place."
                )
            destination = result
        return destination

    def _persistent_tensors(self) -> dict[str, Tensor]:
        buffers = (
            (k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set
        )
        return {
            name: value
            for name, value in itertools.chain(self._parameters.items(), buffers)
            if value is not None
        }

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not State.get_extra_state

    def _save_to_state_dict(
        self, destination: OrderedDict[str, object], prefix: str, keep_vars: bool
    ) -> None:
        """Put this module's own state, without its submodules', into ``destination``; may be
        overridden.
        """
        for name, value in self._persistent_tensors().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if self._has_extra_state():
            destination[prefix + EXTRA_STATE_KEY] = self.get_extra_state()

    @restoring()
    def load_state_dict(
        self, state_dict: Mapping[str, object], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the values of a state dict into this module's parameters and buffers.

        Parameters
        ----------
        state_dict : mapping of str to Any
            As returned by `state_dict`.
        strict : bool, default True
            Require the names to agree exactly.
        assign : bool, default False
            Take the tensors of ``state_dict`` themselves instead of copying their values.

        Returns
        -------
        _IncompatibleKeys
            ``missing_keys`` and ``unexpected_keys``; prints as ``<All keys matched successfully>``
            if both are empty.

        Raises
        ------
        TypeError
            If ``state_dict`` is not a mapping.
        RuntimeError
            If names (with ``strict``) or shapes disagree. Parameters and buffers then keep their
            values.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}. "
                "Pass what another module's state_dict() returned."
            )
        metadata = getattr(state_dict, "_metadata", {})
        state = OrderedDict(state_dict)
        state._metadata = metadata  # type: ignore[attr-defined]
        loading = Loading(state, strict, assign)
        try:
            loading.load(cast("Module", self), "", state)
            loading.raise_errors(cast("Module", self))
        except BaseException:
            loading.undo()
            raise
        return loading.keys

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state, without its submodules'; may be overridden to convert old
        formats.

        ``missing_keys``, ``unexpected_keys`` and ``error_msgs`` are extended, nothing is raised.
        """
        for hook in self._state_hooks("load_state_dict_pre"):
            arguments = (
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
            hook.function(*((self, *arguments) if hook.with_module else arguments))
        assign = local_metadata.get("assign_to_params_buffers", False)
        local = self._persistent_tensors()
        for name, value in local.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(key, name, value, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        if self._has_extra_state() or type(self).set_extra_state is not State.set_extra_state:
            key = prefix + EXTRA_STATE_KEY
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        if strict:
            known = {*local, EXTRA_STATE_KEY} if self._has_extra_state() else set(local)
            for key in state_dict:
                if key.startswith(prefix):
                    name, _, rest = key[len(prefix) :].partition(".")
                    if name not in (self._modules if rest else known):
                        unexpected_keys.append(key)

    @restoring()
    def _load_tensor(
        self, key: str, name: str, current: Tensor, new: Any, assign: bool
    ) -> str | None:
        """Copy or assign one tensor; returns what went wrong."""
        if not isinstance(new, Tensor):
            return (
                f'While copying the parameter named "{key}", expected '
                "torch.Tensor or Tensor-like object from "
                f"checkpoint but received {type(new)}"
            )
        if not is_lazy(current):
            if new.shape != current.shape and not (current.dim() == 0 and new.shape == (1,)):
                return (
                    f"size mismatch for {key}: copying a param with shape {new.shape} from "
                    f"checkpoint, the shape in current model is {current.shape}."
                )
            new = new.reshape(current.shape) if new.shape != current.shape else new
        try:
            with no_grad():
                if assign:
                    self._assign_tensor(name, current, new)
                elif current.is_meta and not new.is_meta:
                    warn_user(
                        f"for {key}: copying from a non-meta parameter in the checkpoint to a "
                        "meta parameter in the "
                        "current model, which is a no-op. (Did you mean to pass `assign=True`, or "
                        "to_empty() first?)"
                    )
                else:
                    current.copy_(new)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose '
                f"dimensions in the model are {current.size()} and "
                f"whose dimensions in the checkpoint are {new.size()}, an exception occurred : "
                f"{error.args}."
            )
        return None

    def _assign_tensor(self, name: str, current: Tensor, new: Tensor) -> None:
        if name in self._parameters:
            if not isinstance(new, Parameter):
                new = Parameter(new, requires_grad=current.requires_grad)
            elif new.requires_grad != current.requires_grad:
                new.requires_grad_(current.requires_grad)
            self._parameters[name] = new
        else:
            self._buffers[name] = new

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` collects this module's
        state.
        """
        return add_hook(self._own_hooks().state_dict_pre, Hook(hook))

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after it; it may change
        ``state_dict`` in place.
        """
        return add_hook(self._own_hooks().state_dict_post, Hook(hook))

    def _register_state_dict_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but it may return another state dict."""
        return add_hook(self._own_hooks().state_dict_post, Hook(hook, may_replace=True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)``
        before this module loads its state; it may change ``state_dict`` and the lists in place."""
        return add_hook(self._own_hooks().load_state_dict_pre, Hook(hook, with_module=True))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        return add_hook(self._own_hooks().load_state_dict_pre, Hook(hook, with_module=with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after this module and its submodules are loaded.

        It may change the two lists in place, and must return None.
        """
        return add_hook(self._own_hooks().load_state_dict_post, Hook(hook))


def _positional(args: tuple[object, ...], *named: Any) -> tuple[Any, Any, Any]:
    """Return the arguments of `State.state_dict`, of which some were given by position."""
    warn_user(
        "Positional args are being deprecated, use kwargs instead: destination=, prefix=, "
        "keep_vars=.",
        FutureWarning,
    )
    destination, prefix, keep_vars = (*args, *named[len(args) :])[:3]
    return destination, prefix, keep_vars
