"""The parametrizations of one tensor, and its original tensors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import restoring

from ..modules.container import ModuleList
from ..modules.module import Module
from ..parameter import Parameter


def register_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Register a parameter or a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def check_unchanged(before: Tensor, after: object) -> None:
    """Raise an error for a value of an unexpected kind, dtype or shape.

    Raises
    ------
    ValueError
        In PyTorch's words.
    """
    if not isinstance(after, Tensor):
        raise ValueError(
            f"A parametrization must return a tensor. Got {type(after).__name__}. "
            "Return one from its forward."
        )
    for what, old, new in (
        ("dtype", before.dtype, after.dtype),
        ("shape", before.shape, after.shape),
    ):
        if old != new:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"`unsafe` flag is enabled.\nunparametrized {what}: {old}\nparametrized {what}: "
                f"{new}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and the original tensors.

    The original is the parameter or buffer ``original``, or ``original0``, ``original1`` … if the
    first parametrization takes several tensors.

    Parameters
    ----------
    modules : sequence of Module
        At least one parametrization. The originals are computed by their ``right_inverse`` methods,
        if defined, in reverse order.
    original : Tensor
        The current value of the tensor: a parameter or a buffer.
    unsafe : bool, default False
        Allow shape and dtype to change.

    Attributes
    ----------
    is_tensor : bool
        Whether there is a single original.
    ntensors : int
        Number of originals, if there are several.

    Raises
    ------
    ValueError
        If there are no modules, or if their results have the wrong type, shape or dtype.
    """

    original: Tensor

    @restoring()
    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules. Pass one.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.detach()
        inverse: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    # Some have one for certain settings only.
                    with suppress(NotImplementedError):
                        inverse = module.right_inverse(inverse)
        self.is_tensor = isinstance(inverse, Tensor)
        if self.is_tensor:
            self._take_one(original, inverse)
        else:
            self._take_several(original, inverse)
        if not unsafe:
            check_unchanged(before, self())

    def _take_one(self, original: Tensor, inverse: Tensor) -> None:
        for what in ("dtype", "device"):
            old, new = getattr(original, what), getattr(inverse, what)
            if old != new:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {old}\nright_inverse(original).{what}: {new}"
                )
        if inverse is not original:
            original.data = inverse.detach()
        register_tensor(self, "original", original)

    def _take_several(self, original: Tensor, inverse: Any) -> None:
        self.ntensors = len(_checked_sequence(inverse))
        for place, each in enumerate(inverse):
            if isinstance(original, Parameter):
                each = Parameter(each, original.requires_grad)
            register_tensor(self, f"original{place}", each)

    def _originals(self) -> list[Any]:
        return [getattr(self, f"original{place}") for place in range(self.ntensors)]

    @no_grad()
    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the tensor becomes ``value``, by the ``right_inverse`` of every
        parametrization.

        Raises
        ------
        RuntimeError
            If a parametrization has no ``right_inverse``.
        ValueError
            If the results do not match the originals.
        """
        inverse: Any = value
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse. "
                    "Define it to assign to the tensor."
                )
            inverse = module.right_inverse(inverse)
        if self.is_tensor:
            if not isinstance(inverse, Tensor):
                raise ValueError(
                    f"`right_inverse` should return a tensor. Got {type(inverse).__name__}"
                )
            pairs = [("original", self.original, inverse)]
        else:
            if len(_checked_sequence(inverse)) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(inverse)}."
                )
            pairs = [
                (f"original{place}", *each)
                for place, each in enumerate(zip(self._originals(), inverse, strict=True))
            ]
        for name, old, new in pairs:
            if old.dtype != new.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {new.dtype} while `{name}` "
                    f"has dtype {old.dtype}"
                )
        for _, old, new in pairs:
            old.data = new.detach()

    def forward(self) -> Any:
        modules = iter(self)
        result: Any = next(modules)(*([self.original] if self.is_tensor else self._originals()))
        for module in modules:
            result = module(result)
        return result


def _checked_sequence(inverse: object) -> Sequence[Tensor]:
    if not isinstance(inverse, Sequence):
        raise ValueError(
            "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
            f"Got {type(inverse).__name__}"
        )
    for place, each in enumerate(inverse):
        if not isinstance(each, Tensor):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got element {place} of the sequence with type {type(each).__name__}."
            )
    return inverse
