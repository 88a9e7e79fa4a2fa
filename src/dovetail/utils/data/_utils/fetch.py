"""Takes the samples of a batch from a dataset."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

__all__ = ["Fetcher", "IterableFetcher", "MapFetcher", "fetcher_of"]


class Fetcher:
    """Returns batches of a dataset: ``fetch(index)`` for what a sampler yields."""

    def __init__(self, dataset: Any, is_batched: bool, collate: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.is_batched = is_batched
        self.collate = collate

    def fetch(self, index: object) -> Any:
        """Return the collated samples of an index, or of a list of them."""
        raise NotImplementedError


class MapFetcher(Fetcher):
    """Takes samples by index."""

    def fetch(self, index: Any) -> Any:
        if not self.is_batched:
            return self.collate(self.dataset[index])
        at_once = getattr(self.dataset, "__getitems__", None)
        samples = at_once(index) if at_once else [self.dataset[each] for each in index]
        return self.collate(samples)


class IterableFetcher(Fetcher):
    """Takes the next samples of a dataset; raises StopIteration behind the last."""

    def __init__(
        self, dataset: Any, is_batched: bool, collate: Callable[[Any], Any], drop_last: bool
    ) -> None:
        super().__init__(dataset, is_batched, collate)
        self._samples = iter(dataset)
        self._drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """Return the next sample, or as many as `index` is long, collated."""
        if not self.is_batched:
            return self.collate(next(self._samples))
        samples = list(islice(self._samples, len(index)))
        if not samples or (self._drop_last and len(samples) < len(index)):
            raise StopIteration
        return self.collate(samples)


def fetcher_of(
    dataset: object,
    is_iterable: bool,
    is_batched: bool,
    collate: Callable[..., object],
    drop_last: bool,
) -> Fetcher:
    """Return the fetcher for a kind of dataset."""
    if is_iterable:
        return IterableFetcher(dataset, is_batched, collate, drop_last)
    return MapFetcher(dataset, is_batched, collate)
