"""The derivative of attention by parts of the heads and queries whose scores stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy

from dovetail_aten.families import Attention
from dovetail_aten.typing import Array

_SCORES: Final = 1 << 17
"""How many at a time."""


@lru_cache(16)
def _past(rows: int, keys: int) -> Any:
    """Return which of the keys the last `rows` queries see."""
    return numpy.tri(rows, keys, keys - rows, bool)


def _parts(query: Array, key: Array, is_causal: bool) -> Iterator[tuple[slice, slice, slice, Any]]:
    """Yield some heads, some of their queries, the keys that these see, and the mask of those."""
    (heads, queries, _), keys = query.shape, key.shape[1]
    some = max(1, _SCORES // (queries * keys))
    rows = queries if some > 1 else max(1, _SCORES // keys)
    for head in range(0, heads, some):
        for start in range(0, queries, rows):
            stop = min(start + rows, queries)
            seen = min(stop, keys) if is_causal else keys
            mask = _past(stop - start, seen) if is_causal and stop <= keys else None
            yield slice(head, head + some), slice(start, stop), slice(seen), mask


class FastAttention(Attention):
    """Attention whose derivative is computed by parts."""

    def _is_parted(self, query: Array, key: Array, is_causal: bool, mask: object) -> bool:
        """Return whether there are many scores, of queries that each see a key."""
        shape = (*query.shape[:-1], key.shape[-2])
        is_right = not is_causal or shape[-2] <= shape[-1]
        return mask is None and is_right and prod(shape) > _SCORES

    def attention_backward(
        self,
        grad: Array,
        query: Array,
        key: Array,
        value: Array,
        output: Array,
        logsumexp: Array,
        is_causal: bool,
        attn_mask: object,
        scale: float | None,
        mask: Sequence[bool],
    ) -> tuple[Any, Any, Any, Any]:
        """Return the gradients of queries, keys, values and mask."""
        whole, more = super().attention_backward, (output, logsumexp)
        if not self._is_parted(query, key, is_causal, attn_mask):
            return whole(grad, query, key, value, *more, is_causal, attn_mask, scale, mask)
        given = [each.reshape(-1, *each.shape[-2:]) for each in (grad, query, key, value)]
        g, q, k, v = [self.precision.wide(each) for each in given]
        made = [numpy.zeros(each.shape, each.dtype) for each in (q, k, v)]
        for head, rows, seen, past in _parts(q, k, is_causal):
            operands = g[head, rows], q[head, rows], k[head, seen], v[head, seen]
            found = whole(*operands, *more, False, past, scale, (True, True, True, False))
            for target, places, part in zip(made, (rows, seen, seen), found, strict=False):
                target[head, places] += part
        to_query, to_key, to_value = [
            each.reshape(own.shape).astype(own.dtype, copy=False)
            for each, own in zip(made, (query, key, value), strict=True)
        ]
        return to_query, to_key, to_value, None
