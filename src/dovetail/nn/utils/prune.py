"""Pruning: permanently zeroing weights of a module, at random or by importance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from ..modules.module import Module
from .convert_parameters import parameters_to_vector
from .pruning_methods import (
    BasePruningMethod,
    PruningContainer,
    _compute_norm,
    _compute_nparams_toprune,
    _forget_method,
    _validate_pruning_amount,
    _validate_pruning_amount_init,
    _validate_pruning_dim,
    _validate_structured_pruning,
)

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

M = TypeVar("M", bound=Module)


class Identity(BasePruningMethod):
    """Prunes nothing, but creates a mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask``."""
        return default_mask


class _OfAmount(BasePruningMethod):
    """A method that prunes so many elements or slices, or such a share of them.

    Parameters
    ----------
    amount : int or float
        Number of elements or slices, or their fraction between 0 and 1.
    """

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _number_of(self, size: int) -> int:
        number = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(number, size)
        return number


class _Unstructured(_OfAmount):
    """Prunes the elements with the least scores."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` with zeros for what is pruned."""
        number = self._number_of(t.numel())
        mask = default_mask.clone()
        if number:
            pruned = self._scores(t).reshape(-1).topk(number, largest=False).indices
            mask.view(-1)[pruned] = 0
        return mask

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError


class RandomUnstructured(_Unstructured):
    """Prunes elements at random: `amount` of them, or such a fraction between 0 and 1."""

    def _scores(self, t: Tensor) -> Tensor:
        return -aten.rand_like(t)


class L1Unstructured(_Unstructured):
    """Prunes elements with the smallest absolute values; `amount` as in `RandomUnstructured`."""

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()


class _Structured(_OfAmount):
    """Prunes the slices along a dimension with the least scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` with zeros for what is pruned."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        number = self._number_of(size)
        if number == 0:
            return default_mask
        kept = self._scores(t).topk(size - number, largest=True).indices
        mask = aten.zeros_like(default_mask).index_fill_(self.dim, kept, 1)
        return mask * default_mask

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes slices along a dimension at random.

    Parameters
    ----------
    amount : int or float
        Number of elements or slices, or their fraction between 0 and 1.
    dim : int, default -1
        The dimension.
    """

    def _scores(self, t: Tensor) -> Tensor:
        return aten.rand(t.shape[self.dim], device=t.device)


class LnStructured(_Structured):
    """Prunes the slices along a dimension with the smallest norms.

    Parameters
    ----------
    amount, dim
        As in `RandomStructured`.
    n : int, float or 'fro'
        The order of the norm.
    """

    def __init__(self, amount: int | float, n: object, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor) -> Tensor:
        return _compute_norm(t, self.n, self.dim)


class CustomFromMask(BasePruningMethod):
    """Prunes the elements for which a mask is 0.

    Parameters
    ----------
    mask : Tensor
        The mask, of the shape of the tensor; 0 for elements to prune.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` times the mask."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        both: Tensor = default_mask * self.mask.to(dtype=default_mask.dtype)
        return both


def identity(module: M, name: str) -> M:
    """Add a mask of ones to a parameter.

    Parameters
    ----------
    module : Module
        Changed in place, and returned.
    name : str
        Name of the parameter.
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: int | float) -> M:
    """Prune elements of a parameter at random.

    Parameters
    ----------
    module : Module
        Changed in place, and returned.
    name : str
        Name of the parameter.
    amount : int or float
        The number of elements, or their fraction between 0 and 1.
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: M, name: str, amount: int | float, importance_scores: Tensor | None = None
) -> M:
    """Prune the elements of a parameter with the smallest absolute values.

    Parameters
    ----------
    module, name, amount
        As for `random_unstructured`.
    importance_scores : Tensor, optional
        Tensor of the same shape whose absolute values are used instead.
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: int | float, dim: int) -> M:
    """Prune slices of a parameter along ``dim`` at random; the other arguments are those of
    `random_unstructured`.
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: M,
    name: str,
    amount: int | float,
    n: object,
    dim: int,
    importance_scores: Tensor | None = None,
) -> M:
    """Prune the slices of a parameter along ``dim`` with the smallest norms of order ``n``; the
    other arguments are those of `l1_unstructured`.
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune the elements of a parameter for which ``mask`` is 0; it has the same shape."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune the elements of several parameters as if they were one.

    Parameters
    ----------
    parameters : iterable of (Module, str)
        Modules and the names of their parameters.
    pruning_method : type
        An unstructured method such as `L1Unstructured`.
    importance_scores : dict, optional
        Values to compute the mask from, for some of the parameters.
    **kwargs
        Arguments of the method, such as ``amount``.

    Raises
    ------
    TypeError
        If ``parameters`` is not iterable, ``importance_scores`` is not a dict, or the method is
        structured.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "temp"
    container.add_pruning_method(method)
    tensors = [getattr(module, name) for module, name in pairs]
    masks = [
        getattr(module, name + "_mask", aten.ones_like(tensor))
        for (module, name), tensor in zip(pairs, tensors, strict=True)
    ]
    given = [scores.get(pair, tensor) for pair, tensor in zip(pairs, tensors, strict=True)]
    mask = container.compute_mask(parameters_to_vector(given), parameters_to_vector(masks))
    parts = mask.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, part.view_as(tensor))


def remove(module: M, name: str) -> M:
    """Make the pruning of a parameter permanent: it keeps its current value and loses its mask.

    Raises
    ------
    ValueError
        If the parameter is not pruned.
    """
    method = _forget_method(module, name)
    if method is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    method.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Return whether anything in a module, or its submodules, is pruned."""
    return any(
        [
            isinstance(hook.function, BasePruningMethod)
            for each in module.modules()
            if each._hooks is not None
            for hook in each._hooks.forward_pre.values()
        ]
    )
