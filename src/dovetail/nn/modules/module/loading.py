"""A running ``load_state_dict``: the order of modules, the errors so far, and the undo
information.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail_aten import Tensor
from dovetail_autograd import no_grad

from ...parameter import is_lazy

if TYPE_CHECKING:
    from .module_class import Module


class _IncompatibleKeys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


class Loading:
    """A running `load_state_dict`: the errors so far, and the undo information."""

    def __init__(self, state: OrderedDict[str, object], strict: bool, assign: bool) -> None:
        self.metadata: Any = getattr(state, "_metadata", {})
        self.strict = strict
        self.assign = assign
        self.keys = _IncompatibleKeys([], [])
        self.errors: list[str] = []
        self.uninitialized: list[tuple[Tensor, type[Tensor]]] = []
        self.before: list[tuple[dict[str, Any], str, Tensor, Tensor | None]] = []

    def load(self, module: Module, prefix: str, state: OrderedDict[str, object]) -> None:
        """Load ``module`` and its submodules from the entries of ``state`` that begin with
        ``prefix``.
        """
        self._remember(module)
        local_metadata = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local_metadata["assign_to_params_buffers"] = True
        missing, unexpected = self.keys
        module._load_from_state_dict(
            state, prefix, local_metadata, True, missing, unexpected, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                part = OrderedDict(
                    (key, value) for key, value in state.items() if key.startswith(inner)
                )
                self.load(child, inner, part)
        for hook in module._state_hooks("load_state_dict_post"):
            if hook.function(module, self.keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def raise_errors(self, module: Module) -> None:
        """Raise a single error with all messages."""
        lines = []
        if self.strict:
            for text, names in (
                ("Missing", self.keys.missing_keys),
                ("Unexpected", self.keys.unexpected_keys),
            ):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    lines.append(f"{text} key(s) in state_dict: {listed}. ")
        remedy = ""
        if lines:
            remedy = (
                "\nNo value was changed. With strict=False missing "
                "and unexpected keys are only reported."
            )
        lines += self.errors
        if lines:
            listed = "\n\t".join(lines)
            remedy = (
                remedy
                or "\nNo value was changed. Build the model with the "
                "checkpoint's shapes, or drop these keys."
            )
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{listed}{remedy}"
            )

    @no_grad()
    def undo(self) -> None:
        """Restore the old values of all parameters and buffers."""
        for tensor, kind in self.uninitialized:
            if not is_lazy(tensor):
                tensor.data = tensor.data.new_empty(0)
                tensor.__class__ = kind
        for table, name, tensor, value in self.before:
            table[name] = tensor
            if value is not None:
                tensor.copy_(value)

    def _remember(self, module: Module) -> None:
        tables: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
        for table in tables:
            for name, tensor in table.items():
                if is_lazy(tensor):  # a hook may give it a shape
                    self.uninitialized.append((tensor, type(tensor)))
                    self.before.append((table, name, tensor, None))
                elif tensor is not None:
                    kept = None if self.assign or tensor.is_meta else tensor.detach().clone()
                    self.before.append((table, name, tensor, kept))
