"""Connectionist temporal classification (Graves et al. 2006, doi:10.1145/1143844.1143891): all
alignments of a target with an input, added up along time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail_kernel.types import FLOAT

from ...kernel_support.family import Family, fitted, operator
from ...typing import Array

Lengths = Sequence[int]


class Alignments(Family):
    """The loss of classes whose places in time are not known.

    The states of an alignment are the labels with a blank before, between and behind them. All
    arrays have shape (T, N, ...) or (N, states).
    """

    def _check(self, log_probs: Array) -> None:
        """Raise an error for dtypes that PyTorch's loss does not support."""
        kind = self.dtypes[log_probs.dtype]
        if kind.category != FLOAT or kind.itemsize < 4:
            raise NotImplementedError(
                f"\"ctc_loss_cpu\" not implemented for '{kind.scalar_name}'. Convert to float32 "
                "first."
            )

    def _check_labels(self, states: Array, classes: int) -> None:
        """Raise an error for labels that are not classes; for lazy arrays, their lookup raises
        it.
        """
        if self.lazy or not math.prod(states.shape):
            return
        least, greatest = int(self.xp.amin(states)), int(self.xp.amax(states))
        if least < 0 or greatest >= classes:
            raise RuntimeError(
                f"Expected targets to be labels from 0 to {classes - 1}, but they reach from "
                f"{least} to {greatest}. Give log_probs of more classes, or other targets."
            )

    def _states(self, targets: Array, lengths: Lengths, blank: int) -> Any:
        """Return the class of every state, blank behind the last."""
        xp = self.xp
        samples, longest = len(lengths), max(lengths, default=0)
        place = xp.arange(longest)
        counts = xp.reshape(xp.asarray(list(lengths), dtype=xp.int64), (samples, 1))
        if targets.ndim == 1:
            starts = [sum(lengths[:n]) for n in range(samples)]
            begin = xp.reshape(xp.asarray(starts, dtype=xp.int64), (samples, 1))
            index = xp.where(place < counts, begin + place, 0)
            labels = xp.take(targets, index, axis=0) if targets.size else index
        else:
            labels = targets[:, :longest]
        labels = xp.where(place < counts, labels.astype(xp.int64), blank)
        blanks = xp.full((samples, longest), blank, dtype=xp.int64)
        pairs = xp.reshape(xp.stack([blanks, labels], axis=2), (samples, 2 * longest))
        return xp.concatenate([pairs, xp.full((samples, 1), blank, dtype=xp.int64)], axis=1)

    def _skips(self, states: Array, blank: int) -> Any:
        """Return the states that the last but one leads to as well: labels other than that."""
        xp = self.xp
        differs = xp.logical_and(states[:, 2:] != blank, states[:, 2:] != states[:, :-2])
        never = xp.zeros((states.shape[0], min(2, states.shape[1])), dtype=xp.bool_)
        return xp.concatenate([never, differs], axis=1)

    def _emissions(self, log_probs: Array, states: Array) -> Any:
        """Return the logarithm of the probability of every state at every time."""
        xp = self.xp
        time, (samples, count) = log_probs.shape[0], states.shape
        index = xp.broadcast_arrays(states[None], xp.zeros((time, samples, count)))[0]
        return xp.take_along_axis(log_probs, index, axis=2)

    def _shifted(self, x: Array, by: int) -> Any:
        """Return states moved by some places, with probability 0 where none comes from."""
        xp = self.xp
        none = xp.full((x.shape[0], min(abs(by), x.shape[1])), -math.inf, dtype=x.dtype)
        if by > 0:
            return xp.concatenate([none, x[:, : max(x.shape[1] - by, 0)]], axis=1)
        return xp.concatenate([x[:, -by:], none], axis=1)

    def _stepped(self, x: Array, skips: Array, forward: bool) -> Any:
        """Return the probabilities that lead to every state, or that it leads on to."""
        xp = self.xp
        zero = self.numbers.like(x, -math.inf)
        near = xp.logaddexp(x, self._shifted(x, 1 if forward else -1))
        if forward:
            return xp.logaddexp(near, xp.where(skips, self._shifted(x, 2), zero))
        return xp.logaddexp(near, self._shifted(xp.where(skips, x, zero), -2))

    def _final(self, lengths: Lengths, count: int) -> Any:
        """Return the states in which an alignment may end: the last label and the blank behind."""
        xp = self.xp
        end = 2 * xp.reshape(xp.asarray(list(lengths), dtype=xp.int64), (len(lengths), 1))
        place = xp.arange(count)
        return xp.logical_or(place == end, place == end - 1)

    @operator("_ctc_loss")
    def ctc_loss(
        self,
        log_probs: Array,
        targets: Array,
        input_lengths: Lengths,
        target_lengths: Lengths,
        blank: int = 0,
        zero_infinity: bool = False,
    ) -> tuple[Any, Any]:
        """Return minus the logarithms of the probabilities of the targets, and of the probabilities
        to be in a state at a time, given what was seen so far, with shape (N, T, states).
        """
        xp = self.xp
        check_ctc(log_probs.shape, targets.shape, input_lengths, target_lengths, blank)
        self._check(log_probs)
        own, zero = log_probs.dtype, self.numbers.like(log_probs, -math.inf)
        states = self._states(targets, target_lengths, blank)
        self._check_labels(states, log_probs.shape[2])
        samples, count = states.shape
        seen = self._emissions(log_probs, states)
        skips = self._skips(states, blank)
        lengths = xp.reshape(xp.asarray(list(target_lengths), dtype=xp.int64), (samples, 1))
        first = xp.logical_and(xp.arange(count) < 2, xp.arange(count) <= 2 * lengths)
        alphas = [xp.where(first, seen[0], zero)] if len(seen) else []
        for emission in seen[1:]:
            alphas.append(xp.add(self._stepped(alphas[-1], skips, True), emission))
        # Of no input the empty target is certain.
        empty = xp.logical_and(xp.arange(count) == 0, lengths == 0)
        ends = xp.where(empty, self.numbers.like(log_probs, 0), zero)
        ends = ends.astype(own, copy=False)
        times = xp.reshape(xp.asarray(list(input_lengths), dtype=xp.int64), (samples, 1))
        for time, alpha in enumerate(alphas):
            ends = xp.where(times == time + 1, alpha, ends)
        ends = xp.where(self._final(target_lengths, count), ends, zero)
        total = ends[:, 0]
        for state in range(1, count):
            total = xp.logaddexp(total, ends[:, state])
        shape = (samples, 0, count)
        log_alpha = xp.stack(alphas, axis=1) if alphas else xp.zeros(shape, dtype=own)
        return xp.negative(total), self.ordered(log_alpha)

    @operator("_ctc_loss_backward")
    @fitted
    def ctc_loss_backward(
        self,
        grad: Array,
        log_probs: Array,
        targets: Array,
        input_lengths: Lengths,
        target_lengths: Lengths,
        neg_log_likelihood: Any,
        log_alpha: Array,
        blank: int,
        zero_infinity: bool = False,
    ) -> Any:
        """Return ``grad * (exp(log_probs) - p)`` with p the probabilities of the classes at each
        time, given the target: the gradient of what `log_softmax` made the input of.
        """
        xp = self.xp
        check_ctc(log_probs.shape, targets.shape, input_lengths, target_lengths, blank)
        self._check(log_probs)
        zero = self.numbers.like(log_probs, -math.inf)
        states = self._states(targets, target_lengths, blank)
        samples, count = states.shape
        seen = self._emissions(log_probs, states)
        skips = self._skips(states, blank)
        final = self._final(target_lengths, count)
        times = xp.reshape(xp.asarray(list(input_lengths), dtype=xp.int64), (samples, 1))
        after = xp.full((samples, count), -math.inf, dtype=log_probs.dtype)
        behind = []
        for time in range(len(seen) - 1, -1, -1):
            going = self._stepped(after, skips, False)
            ending = xp.where(final, self.numbers.like(log_probs, 0), zero)
            going = xp.where(times == time + 1, ending, going)
            behind.append(going)
            after = xp.add(going, seen[time])
        if not behind:
            return xp.zeros(log_probs.shape, dtype=log_probs.dtype)
        betas = xp.stack(behind[::-1], axis=0)
        alphas = xp.stack([log_alpha[:, time] for time in range(len(seen))], axis=0)
        given = xp.exp(
            xp.add(xp.add(alphas, betas), xp.reshape(neg_log_likelihood, (1, samples, 1)))
        )
        index = xp.broadcast_arrays(states[None], xp.zeros(given.shape))[0]
        nothing = xp.zeros(log_probs.shape, dtype=log_probs.dtype)
        posterior = self.capabilities.scatter(nothing, 2, index, given, True)
        made = xp.multiply(
            xp.subtract(xp.exp(log_probs), posterior), xp.reshape(grad, (1, samples, 1))
        )
        counts = xp.reshape(xp.arange(len(seen)), (-1, 1, 1)) < xp.reshape(times, (1, samples, 1))
        if zero_infinity:
            counts = xp.logical_and(
                counts, xp.reshape(neg_log_likelihood != math.inf, (1, samples, 1))
            )
        return self.ordered(xp.where(counts, made, self.numbers.like(log_probs, 0)))


def check_ctc(
    shape: Sequence[int],
    targets: Sequence[int],
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int,
) -> None:
    """Raise an error for shapes and lengths that are incompatible. Raises RuntimeError with
    PyTorch's message.
    """
    if len(shape) != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {len(shape)}-dimensional tensor for argument "
            "#1 'log_probs'. Give (T, N, C)."
        )
    time, samples, classes = shape
    if len(targets) not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {len(targets)}-dimensional tensor for argument "
            "#2 'targets'. Give (N, S), or all targets one after another."
        )
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range, but {blank} is none of {classes}.")
    greatest = {"input_lengths": time, "target_lengths": math.inf}
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != samples:
            raise RuntimeError(
                f"{name} must be of size batch_size, but got {len(lengths)} for {samples} samples."
            )
        for length in lengths:
            if not 0 <= length <= greatest[name]:
                bound = "least 0" if length < 0 else f"most {time}"
                raise RuntimeError(
                    f"Expected {name} to have value at {bound}, but got value {length}. Give how "
                    "much of each sample counts."
                )
    if len(targets) == 1 and targets[0] != sum(target_lengths):
        raise RuntimeError(
            f"Expected tensor to have size {sum(target_lengths)} at dimension 0, but got size "
            f"{targets[0]} for argument #2 'targets'. Give as many labels as the lengths say."
        )
    if len(targets) == 2 and (targets[0] != samples or targets[1] < max(target_lengths, default=0)):
        raise RuntimeError(
            f"Expected tensor to have size at least {max(target_lengths, default=0)} at dimension "
            f"1, but got size {targets[1]} for argument #2 'targets'. Give one row for each sample."
        )
