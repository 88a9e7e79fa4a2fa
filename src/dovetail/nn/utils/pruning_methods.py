"""Common parts of pruning methods: the mask, the original tensor, and sequences of methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor, linalg

from ..modules.module import Module


class BasePruningMethod(ABC):
    """Base class of pruning methods: a subclass defines `compute_mask` and ``PRUNING_TYPE``.

    A module whose ``weight`` is pruned has the parameter ``weight_orig`` and the buffer
    ``weight_mask``; every forward first sets ``weight`` to their product.

    Attributes
    ----------
    PRUNING_TYPE : {'unstructured', 'structured', 'global'}
        Whether the method gets the remaining elements, the remaining slices along its ``dim``, or
        everything.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of ``t``: 0 where ``t`` is pruned or ``default_mask`` is 0.

        Parameters
        ----------
        t : Tensor
            The importance of every element.
        default_mask : Tensor
            The mask so far, of the same shape.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """Return the original tensor times the mask."""
        mask: Tensor = getattr(module, self._tensor_name + "_mask")
        original: Tensor = getattr(module, self._tensor_name + "_orig")
        masked: Tensor = mask.to(dtype=original.dtype) * original
        return masked

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a tensor of a module by this method, created from the other arguments.

        Parameters
        ----------
        module : Module
            Changed in place.
        name : str
            Name of the parameter; if it is pruned already, a `PruningContainer` combines both
            methods.
        importance_scores : Tensor, optional
            Values to compute the mask from; default: the parameter.
        """
        found = _method_of(module, name)
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        hook = method
        if found is not None:
            earlier = found if isinstance(found, PruningContainer) else [found]
            hook = PruningContainer(*earlier, method)
        original: Any = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {scores.shape} vs {original.shape}"
            )
        if found is None:
            before = aten.ones_like(original)
        else:
            before = getattr(module, name + "_mask").detach().clone()
        mask = hook.compute_mask(scores, default_mask=before)
        _forget_method(module, name)
        if found is None:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """Return ``t`` pruned.

        Parameters
        ----------
        t : Tensor
            Any shape.
        default_mask : Tensor, optional
            The mask so far; default: ones.
        importance_scores : Tensor, optional
            Values to compute the mask from; default: ``t``.
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{scores.shape} vs {t.shape}"
            )
        mask = aten.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Turn the pruned tensor into a plain parameter: pruning becomes permanent."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        original: Any = module._parameters[name + "_orig"]
        if name in module.__dict__:
            delattr(module, name)
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, applied in order to the same tensor.

    Parameters
    ----------
    *args : BasePruningMethod
        The methods.
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same tensor.

        Raises
        ------
        TypeError
            If the argument is not a module.
        ValueError
            If it is for another tensor.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` with the last method applied to the remaining elements."""
        method: Any = self._pruning_methods[-1]
        mask = default_mask.clone().to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left: Any = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [each for each in range(t.dim()) if each != dim]
            left = (slice(None),) * dim + (default_mask.sum(others) != 0,)
        elif method.PRUNING_TYPE == "global":
            left = ...
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        part: Tensor = method.compute_mask(t[left], default_mask=default_mask[left])
        mask[left] = part.to(dtype=mask.dtype)
        result: Tensor = mask
        return result


def _method_of(module: Module, name: str) -> BasePruningMethod | None:
    """Return the method of pruning of a module's tensor, or None."""
    tables = module._hooks
    for hook in () if tables is None else tables.forward_pre.values():
        method = hook.function
        if isinstance(method, BasePruningMethod) and method._tensor_name == name:
            return method
    return None


def _forget_method(module: Module, name: str) -> BasePruningMethod | None:
    """Take the method of pruning off a module's tensor; return it, or None."""
    method = _method_of(module, name)
    if method is not None:
        functions = module._forward_pre_hooks
        del functions[next(iter([key for key, each in functions.items() if each is method]))]
    return method


def _validate_pruning_amount_init(amount: object) -> None:
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, int) and amount > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount: object, tensor_size: int) -> None:
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune="
            f"{tensor_size}"
        )


def _validate_structured_pruning(t: Tensor) -> None:
    if len(t.shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {len(t.shape)} dims"
        )


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim() or dim < -t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """Return a number of elements: ``amount``, or that share of them, rounded."""
    return int(amount) if isinstance(amount, int) else round(amount * tensor_size)


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """Return the norm of order ``n`` of every slice along ``dim``."""
    dims = [each for each in range(t.dim()) if each != dim % t.dim()]
    norm: Tensor = linalg.vector_norm(t, 2 if n == "fro" else n, dims)
    return norm
