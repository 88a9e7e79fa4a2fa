"""Attention by blocks of scores that stay in the cache, and what each needs in few passes: the
maximum of a row is looked for only where powers would leave the range without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf, prod
from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Attention, check_attention, factor_of

from ..functions.products import matmul
from ..parallel.threads import run_pieces

_FLOATS = tuple(map(numpy.dtype, (numpy.float32, numpy.float64)))
_BLOCK = 1 << 17
"""Scores at a time."""
_FEWEST_ROWS = 16
_LEAST, _MOST, _GREATEST = 1e-20, 1e6, 1e15
"""Sums of powers for which no maximum need be taken out; above the second number if the means that
were made of such powers are finite.
"""
_SAFE = 34.0
"""Logarithms of sums whose powers may be divided by the sum in another place, up to this."""
_add, _subtract, _multiply = numpy.add, numpy.subtract, numpy.multiply
_exp, _empty = numpy.exp, numpy.empty
_highest: Any = numpy.maximum.reduce
_total: Any = numpy.add.reduce


@lru_cache(16)
def _future(rows: int, columns: int, dtype: np.dtype) -> Any:
    """Return what leaves out of the scores the keys that come after the query."""
    return numpy.triu(numpy.full((rows, columns), -inf, dtype), 1)


def _sums(rows: np.ndarray) -> Any:
    """Return the sums along the last dimension, which stays."""
    return _total(rows, -1, None, None, True)


def _turned(array: np.ndarray, factor: np.ndarray | None = None) -> Any:
    """Return an array with the last two dimensions exchanged in C order, times a factor: BLAS
    multiplies small matrices faster by that than by a view.
    """
    view = array.swapaxes(-2, -1)
    result = _empty(view.shape, array.dtype)
    if factor is None:
        result[...] = view
        return result
    return _multiply(view, factor, result)


def _scores(query: np.ndarray, turned: object, mask: np.ndarray) -> Any:
    """Return products, with a mask added to those with the last keys."""
    scores = matmul(query, turned)
    if mask is not None:
        masked = scores[..., scores.shape[-1] - mask.shape[-1] :]
        _add(masked, mask, masked)
    return scores


class _Work:
    """How the scores of many heads are cut into blocks.

    Parameters
    ----------
    shape
        Of all scores: batch, heads, queries, keys.
    is_causal
        Whether a query sees the keys up to its own place alone.
    mask
        What is added to scores, of four dimensions that broadcast to `shape`, or None.
    dtype
        Of the scores.
    """

    def __init__(
        self, shape: tuple[int, ...], is_causal: bool, mask: np.ndarray | None, dtype: object
    ) -> None:
        batch, heads, self.queries, self.keys = shape
        self.is_causal, self.dtype = is_causal, dtype
        self.mask = None if mask is None else numpy.broadcast_to(mask, shape)
        each = self.queries * self.keys
        self.rows = self.queries if each <= _BLOCK else max(_FEWEST_ROWS, _BLOCK // self.keys)
        if heads * each <= _BLOCK:
            step = _BLOCK // (heads * each)
            self.pieces: list[Any] = [(slice(b, b + step),) for b in range(0, batch, step)]
        else:
            step = max(1, _BLOCK // each)
            self.pieces = [
                (slice(b, b + 1), slice(h, h + step))
                for b in range(batch)
                for h in range(0, heads, step)
            ]

    def blocks(self, piece: tuple[slice, ...]) -> Iterator[tuple[slice, int, Any]]:
        """Yield the rows of a piece, the number of keys that they see, and the mask of the last of
        these.
        """
        for start in range(0, self.queries, self.rows):
            stop = min(start + self.rows, self.queries)
            seen, mask = self.keys, None
            if self.is_causal:
                seen = min(self.keys, stop)
                if start < seen:
                    mask = _future(stop - start, seen - start, self.dtype)
            elif self.mask is not None:
                mask = self.mask[piece][..., start:stop, :]
            yield slice(start, stop), seen, mask


def _with_four(array: np.ndarray) -> Any:
    """Return an array with all dimensions but the last three as one."""
    if array.ndim < 4:
        return array[(None,) * (4 - array.ndim)]
    return array if array.ndim == 4 else array.reshape(-1, *array.shape[-3:])


def _added(
    mask: np.ndarray | None, is_causal: bool, shape: tuple[int, ...], dtype: np.dtype
) -> Any:
    """Return what a mask adds to scores, both masks in one if there are two."""
    if mask is not None:
        if mask.dtype == numpy.bool_:
            mask = numpy.where(mask, numpy.zeros((), dtype), numpy.array(-inf, dtype))
        else:
            mask = mask.astype(dtype, copy=False)
        if mask.shape[-1:] != shape[-1:]:
            mask = numpy.broadcast_to(mask, (*mask.shape[:-1], shape[-1]))
        if is_causal:
            mask = mask + _future(*shape, dtype)
    return mask


def _attend(
    query: np.ndarray,
    turned: object,
    value: object,
    mask: np.ndarray,
    output: np.ndarray,
    logarithms: np.ndarray,
) -> None:
    """Write the means, and the logarithms of the sums of the powers of scores."""
    powers = _scores(query, turned, mask)
    _exp(powers, powers)
    sums = _sums(powers)
    matmul(powers, value, output)
    # Twice as fast as reductions. A NaN is found by both, and is within no bounds.
    most = sums.item(sums.argmax())
    if not (
        sums.item(sums.argmin()) > _LEAST
        and (most < _MOST or (most < _GREATEST and -inf < _total(output, None) < inf))
    ):
        powers = _scores(query, turned, mask)
        top = _highest(powers, -1, None, None, True)
        top[numpy.equal(top, -inf)] = 0
        _exp(_subtract(powers, top, powers), powers)
        sums = _sums(powers)
        sums[numpy.equal(sums, 0)] = 1
        matmul(powers, value, output)
        _add(numpy.log(sums), top, logarithms)
    else:
        numpy.log(sums, logarithms)
    numpy.divide(output, sums, output)


def _differentiate(
    grad: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    turned: object,
    value: object,
    output: np.ndarray,
    logarithms: np.ndarray,
    mask: np.ndarray,
    factor: np.ndarray,
) -> tuple[Any, Any, Any]:
    """Return the gradients of queries, keys and values."""
    powers = _scores(query, turned, mask)
    if (
        logarithms.item(logarithms.argmax()) < _SAFE
        and logarithms.item(logarithms.argmin()) > -_SAFE
    ):
        grad = _multiply(grad, _exp(-logarithms), order="C")
    else:
        _subtract(powers, logarithms, powers)
    _exp(powers, powers)
    slopes = matmul(grad, value)
    _subtract(slopes, _sums(_multiply(grad, output, order="C")), slopes)
    _multiply(slopes, powers, slopes)
    _multiply(slopes, factor, slopes)
    return (
        matmul(slopes, key),
        matmul(slopes.swapaxes(-2, -1), query),
        matmul(powers.swapaxes(-2, -1), grad),
    )


class FastAttention(Attention):
    """Attention of several heads, and its derivative."""

    def attention(
        self,
        query: Any,
        key: Any,
        value: Any,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        attn_mask: np.ndarray | None = None,
        scale: float | None = None,
    ) -> tuple[Any, Any]:
        """Return the means of values, and the logarithms of the sums of the powers of scores."""
        check_attention(query, key, value, attn_mask, dropout_p)
        dtype, shape = query.dtype, (*query.shape[:-1], key.shape[-2])
        is_half = dtype in self.precision.halves
        if not (dtype in _FLOATS or is_half) or not all(shape):
            return Attention.attention(
                self, query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
            )
        own = dtype
        if is_half:
            dtype = _FLOATS[0]
            query, key, value = (each.astype(dtype) for each in (query, key, value))
        factor = self.numbers.like(query, factor_of(query, scale))
        mask = _added(attn_mask, is_causal, shape[-2:], dtype)
        output = _empty((*query.shape[:-1], value.shape[-1]), dtype)
        logarithms = _empty((*query.shape[:-1], 1), dtype)
        if prod(shape) <= _BLOCK:
            if is_causal and mask is None:
                mask = _future(*shape[-2:], dtype)
            _attend(query, _turned(key, factor), value, mask, output, logarithms)
        else:
            four = [_with_four(each) for each in (query, key, value, output, logarithms)]
            _attend_in_blocks(_work(four[0], shape, is_causal, mask), factor, *four)
        return output.astype(own) if is_half else output, logarithms[..., 0]

    def attention_backward(
        self,
        grad: np.ndarray,
        query: np.ndarray,
        key: np.ndarray,
        value: np.ndarray,
        output: np.ndarray,
        logsumexp: Any,
        is_causal: bool,
        attn_mask: np.ndarray,
        scale: float | None,
        mask: Sequence[bool],
    ) -> tuple[Any, Any, Any, Any]:
        """Return the gradients of queries, keys and values; with that of the mask as the generic
        kernel does.
        """
        dtype, shape = query.dtype, (*query.shape[:-1], key.shape[-2])
        is_half = dtype in self.precision.halves
        if (
            (mask[3] and attn_mask is not None)
            or not (dtype in _FLOATS or is_half)
            or grad.dtype is not dtype
            or not all(shape)
        ):
            return Attention.attention_backward(
                *(self, grad, query, key, value, output, logsumexp, is_causal, attn_mask, scale),
                mask,
            )
        own = dtype
        if is_half:
            dtype = _FLOATS[0]
            grad, query, key, value, output = (
                each.astype(dtype) for each in (grad, query, key, value, output)
            )
        factor = self.numbers.like(query, factor_of(query, scale))
        added = _added(attn_mask, is_causal, shape[-2:], dtype)
        logarithms = logsumexp[..., None]
        made: Any
        if prod(shape) <= _BLOCK:
            if is_causal and added is None:
                added = _future(*shape[-2:], dtype)
            made = _differentiate(
                *(grad, query, key, _turned(key, factor), _turned(value)),
                *(output, logarithms, added, factor),
            )
        else:
            shapes = (query.shape, key.shape, value.shape)
            made = [_empty(each, dtype) for each in shapes]
            operands = (grad, query, key, value, output, logarithms, *made)
            four = [_with_four(each) for each in operands]
            _differentiate_in_blocks(_work(four[1], shape, is_causal, added), factor, *four)
        to_query, to_key, to_value = made
        if is_half:
            to_query, to_key, to_value = (each.astype(own) for each in made)
        return to_query, to_key, to_value, None


def _work(query: np.ndarray, shape: tuple[int, ...], is_causal: bool, mask: np.ndarray) -> _Work:
    if mask is not None:
        if mask.ndim > 3 and len(shape) > 4:
            mask = numpy.broadcast_to(mask, shape)
        mask = _with_four(mask)
    whole = (*query.shape[:-1], shape[-1])
    return _Work(whole, is_causal and mask is None, mask, query.dtype)


def _attend_in_blocks(
    work: _Work,
    factor: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    output: np.ndarray,
    logarithms: np.ndarray,
) -> None:
    def compute(first: int, last: int) -> None:
        for piece in work.pieces[first:last]:
            turned = _turned(key[piece], factor)
            own, values = query[piece], value[piece]
            means, sums = output[piece], logarithms[piece]
            for rows, seen, mask in work.blocks(piece):
                _attend(
                    own[..., rows, :],
                    turned[..., :seen],
                    values[..., :seen, :],
                    mask,
                    means[..., rows, :],
                    sums[..., rows, :],
                )

    run_pieces(
        compute, len(work.pieces), query.shape[0] * query.shape[1] * work.queries * work.keys
    )


def _differentiate_in_blocks(
    work: _Work,
    factor: np.ndarray,
    grad: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    output: np.ndarray,
    logarithms: np.ndarray,
    to_query: np.ndarray,
    to_key: np.ndarray,
    to_value: np.ndarray,
) -> None:
    def compute(first: int, last: int) -> None:
        for piece in work.pieces[first:last]:
            turned, values = _turned(key[piece], factor), _turned(value[piece])
            keys, of_key, of_value = key[piece], to_key[piece], to_value[piece]
            of_key[...] = 0
            of_value[...] = 0
            for rows, seen, mask in work.blocks(piece):
                place = (*piece, ..., rows, slice(None))
                made = _differentiate(
                    *(grad[place], query[place], keys[..., :seen, :], turned[..., :seen]),
                    *(values[..., :seen], output[place], logarithms[place], mask, factor),
                )
                to_query[place] = made[0]
                of_key[..., :seen, :] += made[1]
                of_value[..., :seen, :] += made[2]

    run_pieces(
        compute, len(work.pieces), query.shape[0] * query.shape[1] * work.queries * work.keys
    )
