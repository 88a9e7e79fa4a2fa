"""`vmap`: a function of one sample as a function of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

from dovetail_kernel import TensorBase

from ...graph.engine_ops import list_operator, operator
from ..pytree import Structure, flatten, flatten_prefix, unflatten
from ..wrapped.levels import leaves_levels
from . import randomness as random_operators
from .batch_interpreter import VmapLevel

_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., object],
    in_dims: object = 0,
    out_dims: object = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return `func` as a function of batches: each of its calls works on one sample, all of them
    run as one.

    Parameters
    ----------
    func
        Takes and returns tensors, in tuples, lists and dicts of any depth.
    in_dims
        Which dimension of each argument is the batch: an int for all, or nested containers like the
        arguments'; None for an argument that every sample shares, as those given by keyword are.
        Default: 0.
    out_dims
        Where the results have it: an int for all, or containers like the results'. None for a
        result that is the same for all samples. Default: 0.
    randomness
        What random operators do: ``'error'`` (default) refuses them, ``'different'`` draws for
        every sample, ``'same'`` draws once for all.
    chunk_size
        Run at most that many samples at a time. Default: all at once.

    Returns
    -------
    callable
        Takes the arguments of `func`, each with one more dimension.

    Raises
    ------
    ValueError
        On the call: sizes of the batch differ, `in_dims` or `out_dims` do not fit, there is no
        tensor to map over, or something else than tensors is returned. At once: for a `chunk_size`
        below 1.
    RuntimeError
        For any other `randomness`; on the call: where `func` needs the values of a single sample,
        as in ``if x:``.

    Examples
    --------
    >>> import dovetail as dt
    >>> dot = dt.func.vmap(dt.dot)
    >>> dot(dt.ones(3, 5), dt.ones(3, 5))
    tensor([5., 5., 5.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        inputs = _Inputs(func, in_dims, args)
        outputs = _Outputs(func, out_dims, inputs.batch_size)
        if chunk_size is None or chunk_size >= inputs.batch_size:
            return outputs.tree([_run(func, inputs, kwargs, outputs, randomness)])
        # What is random in one chunk is to be so in all.
        chunks = inputs.chunks(chunk_size)
        restart = random_operators.repeated() if randomness == "same" else None
        results = []
        for index, chunk in enumerate(chunks):
            if restart is not None and index:
                restart()
            results.append(_run(func, chunk, kwargs, outputs, randomness))
        return outputs.tree(results)

    return mapped


@leaves_levels
def _run(
    func: Callable[..., object],
    inputs: _Inputs,
    kwargs: Mapping[str, object],
    outputs: _Outputs,
    randomness: str,
) -> list[Any]:
    """Return the leaves of what `func` returns for all samples, the batch where `out_dims` says."""
    random_operators.install()
    with VmapLevel(inputs.batch_size, randomness) as level:
        return outputs.unwrapped(level, func(*inputs.batched(level), **kwargs))


def _name(func: Callable[..., object]) -> str:
    return getattr(func, "__name__", None) or repr(func)


class _Call(NamedTuple):
    """The call, as messages show it."""

    func: Callable[..., Any]
    in_dims: Any

    def __str__(self) -> str:
        return f"vmap({_name(self.func)}, in_dims={self.in_dims}, ...)(<inputs>)"


class _Inputs:
    """The positional arguments of a call, flat, with the batch dimension of each."""

    def __init__(
        self, func: Callable[..., object], in_dims: object, args: tuple[object, ...]
    ) -> None:
        call = _Call(func, in_dims)
        if not isinstance(in_dims, (int, tuple)) or isinstance(in_dims, bool):
            raise ValueError(
                f"{call}: expected `in_dims` to be int or a (potentially nested) tuple "
                "matching the structure of "
                f"inputs, got: {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, "
                "or you are trying to "
                "vmap over a function with no inputs. The latter is unsupported."
            )
        leaves, self.structure = flatten(args)
        is_one = in_dims.__class__ is int  # most often, and known without a call
        dims = [in_dims] * len(leaves) if is_one else flatten_prefix(in_dims, self.structure)
        if dims is None:
            raise ValueError(
                f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has "
                "structure "
                f"{flatten(in_dims)[1]} but inputs has structure {self.structure}."
            )
        self.leaves = leaves
        self.dims = [_checked_dim(call, leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
        sizes = [
            leaf.array.shape[dim]
            for leaf, dim in zip(self.leaves, self.dims, strict=True)
            if dim is not None
        ]
        if not sizes:
            raise ValueError(
                "vmap: Expected at least one Tensor to vmap over. Give an in_dim that is not None."
            )
        if any([size != sizes[0] for size in sizes]):
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                "sizes "
                f"{sizes} for the mapped dimension"
            )
        self.batch_size: int = sizes[0]

    def batched(self, level: VmapLevel) -> Any:
        """Return the arguments with the batched tensors wrapped."""
        wrapped = [
            leaf if dim is None else level.wrap(leaf, dim)
            for leaf, dim in zip(self.leaves, self.dims, strict=True)
        ]
        return unflatten(self.structure, wrapped)

    def chunks(self, size: int) -> list[_Inputs]:
        """Return the same call on parts of the batch."""
        split = list_operator("split", "Tensor")
        parts = [
            None if dim is None else split(leaf, size, dim)
            for leaf, dim in zip(self.leaves, self.dims, strict=True)
        ]
        count = -(-self.batch_size // size)
        made = []
        for index in range(count):
            chunk = object.__new__(_Inputs)
            chunk.structure, chunk.dims = self.structure, self.dims
            chunk.leaves = [
                leaf if part is None else part[index]
                for leaf, part in zip(self.leaves, parts, strict=True)
            ]
            chunk.batch_size = min(size, self.batch_size - index * size)
            made.append(chunk)
        return made


def _checked_dim(call: _Call, leaf: object, dim: object) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension or None."
        )
    if not isinstance(leaf, TensorBase):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    ndim = leaf.array.ndim
    if not -ndim <= dim < ndim:
        raise ValueError(
            f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {ndim} so expected "
            f"in_dim to satisfy -{ndim} <= in_dim < {ndim}."
        )
    return int(dim % ndim)


class _Outputs:
    """Holds what a function returned, flat, and where each result is to have the batch."""

    def __init__(self, func: Callable[..., object], out_dims: object, batch_size: int) -> None:
        self.func = func
        self.out_dims = out_dims
        self.batch_size = batch_size
        self.structure: Structure | None = None
        self.dims: list[Any] = []

    @property
    def name(self) -> str:
        """The name of the function, for messages."""
        return _name(self.func)

    def unwrapped(self, level: VmapLevel, returned: object) -> list[Any]:
        """Return the physical results. Raises ValueError for a value that is not a tensor, or does
        not fit `out_dims`.
        """
        leaves, structure = flatten(returned)
        self.structure = structure
        self.dims = self._dims(structure, len(leaves))
        return [
            self._unwrapped(level, leaf, dim) for leaf, dim in zip(leaves, self.dims, strict=True)
        ]

    def _dims(self, structure: Structure, count: int) -> list[Any]:
        if self.out_dims.__class__ is int:
            return [self.out_dims] * count
        given, _ = flatten(self.out_dims)
        if any(
            [
                dim is not None and (isinstance(dim, bool) or not isinstance(dim, int))
                for dim in given
            ]
        ):
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims}): `out_dims` must be an int, "
                "None or a python "
                "collection of ints representing where in the outputs the vmapped dimension "
                "should appear."
            )
        out_dims = self.out_dims
        if structure.kind is None and isinstance(out_dims, tuple) and len(out_dims) == 1:
            out_dims = out_dims[0]  # one result may be written as a tuple of one
        dims = flatten_prefix(out_dims, structure)
        if dims is None:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not "
                "compatible with the "
                f"structure of `outputs`. out_dims has structure {flatten(self.out_dims)[1]} but "
                "outputs has structure "
                f"{structure}."
            )
        return dims

    def _unwrapped(self, level: VmapLevel, leaf: object, out_dim: int | None) -> Any:
        if not isinstance(leaf, TensorBase):
            if out_dim is None:
                return leaf
            raise ValueError(
                f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type "
                f"{type(leaf)}. Did you mean "
                "to set out_dims= to None for output?"
            )
        if out_dim is None:
            physical, dim = level.unwrap(leaf)
            if dim is not None:
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when "
                    "out_dim is None"
                )
            return physical
        physical = level.spread(leaf)
        ndim = physical.array.ndim
        if not -ndim <= out_dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}], but "
                f"got {out_dim})"
            )
        if out_dim % ndim == 0:
            return physical
        return operator("movedim", "int")(physical, 0, out_dim)

    def tree(self, chunks: Sequence[Sequence[object]]) -> Any:
        """Return the results as the function returned them, the chunks of each joined."""
        assert self.structure is not None
        if len(chunks) == 1:
            return unflatten(self.structure, chunks[0])
        cat = operator("cat", "default")
        joined = [
            column[0] if dim is None else cat(list(column), dim)
            for column, dim in zip(zip(*chunks, strict=True), self.dims, strict=True)
        ]
        return unflatten(self.structure, joined)
