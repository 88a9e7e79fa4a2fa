"""What a tensor is not: the layouts and devices of PyTorch that are missing here."""

from __future__ import annotations

from ..types.layout import Layout, strided
from ..user_warning import warn_user


class OtherKinds:
    """The part of a tensor that says so. Properties, since classes may override them."""

    __slots__ = ()

    @property
    def layout(self) -> Layout:
        """Memory layout: always `strided`."""
        return strided

    @property
    def is_sparse(self) -> bool:
        """Whether only the elements that are not zero are stored: never."""
        return False

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the elements are stored by compressed rows: never."""
        return False

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are stored as scaled integers: never."""
        return False

    @property
    def is_nested(self) -> bool:
        """Whether the tensor is a list of tensors of unequal shapes: never."""
        return False

    @property
    def is_mkldnn(self) -> bool:
        """False: Dovetail has no MKL-DNN layout."""
        return False

    @property
    def is_vulkan(self) -> bool:
        """Whether the elements are on a device of type vulkan: never."""
        return False

    @property
    def is_xpu(self) -> bool:
        """Whether the elements are on a device of type xpu: never."""
        return False

    @property
    def is_mps(self) -> bool:
        """Whether the elements are on a device of type mps: never."""
        return False

    @property
    def is_xla(self) -> bool:
        """Whether the elements are on a device of type xla: never."""
        return False

    @property
    def is_ipu(self) -> bool:
        """Whether the elements are on a device of type ipu: never."""
        return False

    @property
    def is_maia(self) -> bool:
        """Whether the elements are on a device of type maia: never."""
        return False

    @property
    def is_mtia(self) -> bool:
        """Whether the elements are on a device of type mtia: never."""
        return False

    @property
    def volatile(self) -> bool:
        """Whether the tensor is kept out of graphs, which is what `no_grad` is for: never.

        Both reading and assigning it warn, and have no effect.
        """
        warn_user("volatile was removed (Variable.volatile is always False)")
        return False

    @volatile.setter
    def volatile(self, value: bool) -> None:
        warn_user(
            "volatile was removed and now has no effect. Use `with dovetail.no_grad():` instead."
        )
