"""``Tensor(data)``, ``Tensor(2, 3)`` and ``FloatTensor(data)``: PyTorch's legacy constructors.

Results of operators are made by `bare_tensor_maker` of the kernel, past `Tensor.__new__`, so
that they cost nothing more.
"""

from __future__ import annotations

from operator import index
from typing import Any

from dovetail_kernel import (
    DeviceLike,
    Size,
    TensorBase,
    bfloat16,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from dovetail_kernel import bool as bool_

from .._generated import functions as aten
from ..backend.devices import as_device
from ..calling.subclassed import SubclassedMeta
from .creation.factories import empty
from .data.from_data import as_tensor
from .storage_classes.typed_storage import TypedStorage
from .storage_classes.untyped_storage import UntypedStorage


class TensorMeta(SubclassedMeta, type):
    """The class of Tensor and its subclasses, whose calls make instances."""

    __call__ = type.__call__


def new_instance(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Return an instance of a subclass of Tensor, of the data or of the size in the arguments; see
    `legacy_tensor`. Subclasses call it as ``super().__new__(cls, data)``.
    """
    made = legacy_tensor(None, *args, **kwargs)
    return made if made.__class__ is cls else made.as_subclass(cls)


class TypedTensor(type):
    """The class of ``FloatTensor`` and its kin: they make tensors of one dtype on one type of
    device, and recognise them.
    """

    dtype: dtype
    where: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a tensor of the data, or of the size, in the arguments; see `legacy_tensor`."""
        return legacy_tensor(cls.dtype, *args, where=cls.where, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, TensorBase)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.where
        )

    def on(cls, where: str) -> TypedTensor:
        """Return the constructor of tensors of this dtype on another type of device."""
        return _typed(cls.__name__, cls.dtype, where)


def new(self: TensorBase, *args: Any, device: DeviceLike | None = None, **kwargs: Any) -> Any:
    """Return a tensor of this tensor's dtype and device, from data or for a size; see
    `legacy_tensor`.

    Prefer ``new_tensor`` and ``new_empty``, which are unambiguous.
    """
    return legacy_tensor(self.dtype, *args, device=device, where=self.device, **kwargs)


def legacy_tensor(
    wanted: dtype | None,
    *args: Any,
    device: DeviceLike | None = None,
    where: object = "cpu",
    **kwargs: Any,
) -> Any:
    """Return a tensor as PyTorch's legacy constructors do.

    Parameters
    ----------
    wanted
        The dtype; default: the default dtype.
    *args
        Nothing: an empty tensor. Ints, or one `Size`: an uninitialized tensor of that size. A
        tensor: another one that shares its data and graph. A sequence: a tensor of these numbers,
        converted to the dtype; an array of it shares its memory. A storage: a tensor that shows
        it.
    device
        Only one of the type of `where`.
    where
        The device.
    **kwargs
        One of ``data``, ``other`` and ``size`` instead of a single argument.

    Raises
    ------
    TypeError
        For other arguments, and for a tensor of another dtype than `wanted`.
    RuntimeError
        For a device of another type than `where`, and for any beside a tensor.

    Notes
    -----
    ``tensor(data)`` keeps the dtype of the data and takes options, ``empty(2, 3)`` says what it
    makes: prefer these.
    """
    name: str
    given: Any
    name, given = _single(args, kwargs)
    place = as_device(where)
    if device is not None and as_device(device).type != place.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {place.type} but device type: "
            f"{as_device(device).type} was passed. Use "
            "tensor(data, device=...) or empty(size, device=...)."
        )
    options: dict[str, Any] = {
        "dtype": get_default_dtype() if wanted is None else wanted,
        "device": where if device is None else device,
    }
    if name == "size" or (name == "" and isinstance(given, Size)):
        return empty(tuple(given), **options)
    if isinstance(given, TensorBase) and name != "data":
        if device is not None:
            raise RuntimeError(
                "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
                "supported. Use "
                "tensor(...) or as_tensor(...) instead."
            )
        if wanted is not None and given.dtype is not wanted:
            raise TypeError(
                f"expected a tensor of dtype {wanted.name} (got {given.dtype.name}). Convert it: "
                "x.to()."
            )
        return aten.alias(given)  # type: ignore[arg-type]
    if isinstance(given, TypedStorage):
        given = given._untyped_storage
    if isinstance(given, UntypedStorage):
        return empty(0, **options).set_(given)
    if isinstance(given, str):
        raise TypeError(
            "new(): invalid data type 'str'. Give a sequence of numbers, or ints: the sizes."
        )
    if not _is_sequence(given):
        raise TypeError(
            f"new(): data must be a sequence (got {type(given).__name__}). Give a sequence of "
            "numbers, or ints: the "
            "sizes. For a number: tensor(number)."
        )
    return as_tensor(given, **options)


def _single(args: tuple[Any, ...], kwargs: dict[str, object]) -> tuple[str, Any]:
    """Return what to make a tensor of, and as which parameter: "" leaves that to what it is, "size"
    is a tuple.
    """
    if len(args) + len(kwargs) > 1 and kwargs:
        raise TypeError(
            "new() received an invalid combination of arguments: expected nothing, ints, or one "
            "of (data), (other) and "
            "(size), and perhaps device="
        )
    if kwargs:
        ((name, value),) = kwargs.items()
        if name not in ("data", "other", "size"):
            raise TypeError(
                f"new() received an invalid combination of arguments: {name!r} is none of data, "
                "other, size and "
                "device. Use tensor(data, ...), which has more options."
            )
        return name, value
    if len(args) == 1 and (
        isinstance(args[0], bool) or not hasattr(args[0], "__index__") or _has_data(args[0])
    ):
        return "", args[0]
    sizes = []
    for position, value in enumerate(args):
        try:
            sizes.append(index(value))
        except TypeError:
            raise TypeError(
                f"new(): argument 'size' failed to unpack the object at pos {position + 1} with "
                'error "type must be '
                f'tuple of ints,but got {type(value).__name__}". '
                "Give ints, or one sequence of numbers."
            ) from None
    return "size", tuple(sizes) if args else (0,)


def _has_data(value: object) -> bool:
    """Return whether a value that may be an index is a tensor or an array all the same, and not a
    number.
    """
    return (
        isinstance(value, TensorBase)
        or bool(getattr(value, "shape", ()))
        or hasattr(value, "__len__")
    )


def _is_sequence(value: object) -> bool:
    """Return whether `value` has elements, by number: an array without dimensions has not."""
    has_items = (
        hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, dict)
    )
    return has_items and getattr(value, "shape", None) != ()


def _typed(name: str, wanted: dtype, where: str = "cpu") -> TypedTensor:
    documented = (
        f"Constructor of tensors of dtype {wanted.name} on {where}, which are instances of {name}."
    )
    module = "dovetail" if where == "cpu" else f"dovetail.{where}"
    members = {"dtype": wanted, "where": where, "__module__": module, "__doc__": documented}
    return TypedTensor(name, (), members)


BFloat16Tensor = _typed("BFloat16Tensor", bfloat16)
BoolTensor = _typed("BoolTensor", bool_)
ByteTensor = _typed("ByteTensor", uint8)
CharTensor = _typed("CharTensor", int8)
DoubleTensor = _typed("DoubleTensor", float64)
FloatTensor = _typed("FloatTensor", float32)
HalfTensor = _typed("HalfTensor", float16)
IntTensor = _typed("IntTensor", int32)
LongTensor = _typed("LongTensor", int64)
ShortTensor = _typed("ShortTensor", int16)
