"""Pickling of Python objects for a file, with references to its tensors."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from functools import partial
from typing import IO, Any, Final

import dovetail_aten
from dovetail_aten import Tensor

from ..nn.parameter import Parameter
from .checked_json import FormatError
from .safetensors_file import Entry
from .stored_tensors import TensorReader, TensorWriter
from .torch_format.rebuilt_tensors import set_attributes
from .torch_format.restricted_pickles import AllowedGlobals, unpickle


def pickle_objects(objects: Sequence[object], tensors: TensorWriter) -> Entry:
    """Return the pickle of a list as an array of bytes."""
    stream = io.BytesIO()
    _Pickler(stream, tensors).dump(objects)
    data = stream.getvalue()
    return Entry("uint8", (len(data),), data)


def unpickle_objects(
    entry: Entry, tensors: TensorReader, allowed: AllowedGlobals | None = None
) -> list[Any]:
    """Return the list. This runs code named by the pickle, restricted to `allowed`.

    Raises
    ------
    FormatError
        If it is not a pickle of a list.
    Exception
        Any exception of this code; `ImportError` or `AttributeError` if it is missing,
        `pickle.UnpicklingError` if it is not allowed.
    """
    stream = io.BytesIO(entry.data)
    if allowed is not None:
        objects = unpickle(stream, allowed, partial(_referred, tensors))
    else:
        try:
            objects = _Unpickler(stream, tensors).load()
        except (pickle.UnpicklingError, EOFError) as error:
            raise FormatError(f"its pickled objects are corrupt ({error})") from error
    if not isinstance(objects, list):
        raise FormatError("its pickled objects are no list")
    return objects


def _referred(tensors: TensorReader, identity: object) -> Tensor:
    """Return the tensor of a persistent id: a number, or a number and attributes."""
    attributes = None
    if type(identity) is tuple and len(identity) == 2:
        identity, attributes = identity
    tensor = tensors.tensor(identity)
    set_attributes(tensor, attributes)
    return tensor


_PICKLED: Final = {
    name: getattr(dovetail_aten, name) for name in ("make_subclass", "rebuild_tensor")
}


class _Pickler(pickle.Pickler):
    """Pickles objects whose tensors are those of the file."""

    def __init__(self, stream: IO[bytes], tensors: TensorWriter) -> None:
        super().__init__(stream, protocol=4)
        self._tensors = tensors

    def persistent_id(self, obj: Any) -> int | tuple[int, dict[str, Any]] | None:
        if type(obj) not in (Tensor, Parameter):
            return None
        number = self._tensors.index(obj, "pickled")
        attributes = self._tensors.new_attributes(obj, number)
        return (number, attributes) if attributes else number

    def reducer_override(self, obj: Any) -> Any:
        """Let a tensor of a subclass be made of a plain tensor of the file."""
        if not isinstance(obj, Tensor) or type(obj).__reduce_ex__ is not Tensor.__reduce_ex__:
            return NotImplemented
        made_by, args, *state = obj.__reduce_ex__(4)
        if made_by is _PICKLED["rebuild_tensor"]:
            plain = Tensor._make_subclass(Tensor, obj)
            made_by, args = _PICKLED["make_subclass"], (type(obj), plain, obj.requires_grad)
        return (made_by, args, *state)


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote."""

    def __init__(self, stream: IO[bytes], tensors: TensorReader) -> None:
        super().__init__(stream)
        self._tensors = tensors

    def persistent_load(self, pid: object) -> Tensor:
        return _referred(self._tensors, pid)
