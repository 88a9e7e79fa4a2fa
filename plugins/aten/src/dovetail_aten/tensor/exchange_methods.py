"""Exchange of tensors with NumPy and other array libraries: the methods of `Tensor` for it."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import bfloat16, is_grad_enabled
from dovetail_kernel.keys import PYTHON_DISPATCH
from dovetail_kernel.signature import GRAD

from .conversion_methods import TensorConversions
from .data.host_arrays import from_host
from .numpy_protocols import ArrayFunction, array_ufunc


class ExchangeApi:
    """The capsule of DLPack's C functions, found at the class and made when first asked for."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        from .data.dlpack import exchange_capsule

        return exchange_capsule()


class TensorExchange(TensorConversions):
    """The part of Tensor that gives its memory to other array libraries."""

    __slots__ = ()

    def numpy(self, *, force: bool = False) -> Any:
        """Return the elements as a NumPy array that shares memory.

        Parameters
        ----------
        force
            Detach and copy to host memory if that is what it takes.

        Raises
        ------
        RuntimeError
            If the tensor requires grad, in grad mode.
        TypeError
            If it is on another device than cpu, or of a dtype that NumPy has not.
        """
        if self._signature & PYTHON_DISPATCH:
            raise RuntimeError(
                ".numpy() is not supported for tensor subclasses. Take the tensor out of it first."
            )
        if force:
            return self.detach().cpu().numpy()
        if self._signature & GRAD and self.requires_grad and is_grad_enabled():
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if not self.is_cpu:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to "
                "copy the tensor to host "
                "memory first."
            )
        if self.dtype is bfloat16:
            raise TypeError(
                "Got unsupported ScalarType BFloat16: NumPy has no such dtype. Convert it: "
                "x.float().numpy()."
            )
        return self.array.view()

    __array_function__ = ArrayFunction()
    __array_ufunc__ = array_ufunc

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(
                    f"Unable to avoid copy while creating an array as requested: {self.dtype} is "
                    f"not {dtype}. Leave copy out, or pass copy=None."
                )
            return array.astype(dtype)
        return array.copy("K") if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return from_host(array)

    def __dlpack__(
        self, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """Return a DLPack capsule that shares memory with the tensor.

        Parameters
        ----------
        stream
            The stream on which the consumer will use the data; -1: do not wait for anything. None
            or -1 on cpu.
        max_version
            The newest DLPack that the consumer understands; default: the capsule without version.
        dl_device
            Device that the data shall be on, as ``__dlpack_device__`` gives it; default: where it
            is.
        copy
            True: always copy; False: never; None: if `dl_device` needs it.

        Raises
        ------
        BufferError
            If the tensor requires grad, or the array library cannot export it.
        ValueError
            If `copy` is False and a copy is needed.
        """
        from .data.dlpack import to_capsule  # reads C structures, which few programs need

        return to_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> Any:
        """Return the DLPack device type and index of the memory. Raises ValueError for a device
        that DLPack does not know.
        """
        from .data.dlpack import dlpack_device

        return dlpack_device(self)

    __dlpack_c_exchange_api__ = ExchangeApi()

    @property
    def __cuda_array_interface__(self) -> Any:
        """The CUDA array interface of the memory, for numba and others. Raises AttributeError if
        the tensor is not on cuda, and RuntimeError if it requires grad.
        """
        if not self.is_cuda:
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If "
                "CUDA data is required "
                "use tensor.cuda() to copy tensor to device memory."
            )
        if self.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
                "aren't required, use "
                "var.detach() to get Variable that doesn't require grad."
            )
        return self.array.__cuda_array_interface__
