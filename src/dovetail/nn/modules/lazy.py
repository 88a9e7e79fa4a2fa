"""Modules that infer the sizes of their parameters from the first input."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, ClassVar

from dovetail_autograd import no_grad
from dovetail_kernel import restoring

from ..parameter import is_lazy
from .module import Module

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(Module):
    """Mixin for lazy modules: a class inherits from this and then from the module.

    The constructor registers `UninitializedParameter` and `UninitializedBuffer` for unknown shapes.
    The class defines ``initialize_parameters``, which gets the arguments of the first call and
    materializes the parameters. The class of the module then becomes ``cls_to_become``. Loading a
    state dict materializes them too.
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters from the arguments of the first call; override.

        Raises
        ------
        NotImplementedError
            If it is not overridden.
        """
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}. Define it."
        )

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer of this module itself has no shape yet."""
        own = [*self._parameters.values(), *self._buffers.values()]
        return any([is_lazy(tensor) for tensor in own])

    def _save_to_state_dict(
        self, destination: OrderedDict[str, object], prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars=True)
        for name, tensor in self._persistent_tensors().items():
            if not keep_vars and not is_lazy(tensor):
                destination[prefix + name] = tensor.detach()

    @restoring()
    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Give what has no shape yet that of the state that is about to be loaded."""
        for name, tensor in self._persistent_tensors().items():
            given = state_dict.get(prefix + name)
            if is_lazy(tensor) and given is not None and not is_lazy(given):
                with no_grad():
                    materialize: Any = tensor
                    materialize.materialize(given.shape)

    def _infer_parameters(
        self,
        module: LazyModuleMixin,
        args: tuple[object, ...],
        kwargs: Mapping[str, object] | None = None,
    ) -> None:
        """Initialize the parameters before the first call, and become what it is to be."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {module._get_name()} has not been fully initialized. Let "
                "initialize_parameters materialize every parameter and buffer."
            )
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module._hooks is not None and not any(vars(module._hooks).values()):
            module._hooks = None
        if module.cls_to_become is not None:
            object.__setattr__(module, "__class__", module.cls_to_become)
