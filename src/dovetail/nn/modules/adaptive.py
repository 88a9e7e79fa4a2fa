"""Softmax of very many classes, of which a few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """What `AdaptiveLogSoftmaxWithLoss` returns.

    Attributes
    ----------
    output
        ``(N)``: the logarithm of the probability of each target.
    loss
        Minus their mean.
    """

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over clusters of classes, sorted from frequent to rare; clusters of rare classes use
    fewer features.

    Parameters
    ----------
    in_features : int
        Of the input ``(N, in_features)``.
    n_classes : int
        Number of classes.
    cutoffs : sequence of int
        Ends of the clusters. The head has the classes below the first cutoff, and one class for
        each cluster.
    div_value : float, default 4.0
        Cluster ``i``, counted from 1, has ``in_features // div_value ** i`` features.
    head_bias : bool, default False
        Whether the head has a bias.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.

    Attributes
    ----------
    head : Linear
    tail : ModuleList
        Two linear maps without bias for each cluster.

    Raises
    ------
    ValueError
        If the cutoffs are not increasing numbers between 1 and ``n_classes - 1``.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            ends != sorted(set(ends))
            or ends[0] <= 0
            or ends[-1] > n_classes - 1
            or any([int(end) != end for end in ends])
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an "
                "increasing order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        made: Any = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for cluster, (start, end) in enumerate(self._clusters(), 1):
            inner = int(in_features // div_value**cluster)
            down = Linear(in_features, inner, bias=False, **made)
            self.tail.append(Sequential(down, Linear(inner, end - start, bias=False, **made)))

    def _clusters(self) -> list[tuple[int, int]]:
        """Return where clusters begin and end, without the head's."""
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        self.head.reset_parameters()
        pairs: Any = self.tail
        for down, up in pairs:
            down.reset_parameters()
            up.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return the log-probabilities of the targets, and the loss: their negative mean.

        Raises
        ------
        RuntimeError
            If shapes are incompatible, or if a target is not a class.
        """
        is_batched = target_.dim() > 0
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.dim() != target_.dim() + 1 or (
            is_batched and input_.shape[0] != target_.shape[0]
        ):
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension. They are "
                f"{tuple(input_.shape)} and {tuple(target_.shape)}."
            )
        input = input_ if is_batched else input_.unsqueeze(0)
        target = target_ if is_batched else target_.unsqueeze(0)
        self._check_targets(target)
        output = self._of_targets(input, target)
        loss = (-output).mean()
        return _ASMoutput(output if is_batched else output.squeeze(0), loss)

    def _check_targets(self, target: Tensor) -> None:
        if target.numel() and bool(((target < 0) | (target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )

    def _of_targets(self, input: Tensor, target: Tensor) -> Tensor:
        """Return ``(N)``: what of the head, plus, of rare classes, what within their cluster."""
        in_head = target.clone()
        parts, places = [], []
        for cluster, (start, end) in enumerate(self._clusters()):
            rows = ((target >= start) & (target < end)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            in_head[rows] = self.shortlist_size + cluster
            shares = F.log_softmax(self.tail[cluster](input.index_select(0, rows)), dim=1)
            parts.append(shares.gather(1, (target[rows] - start).unsqueeze(1)).squeeze(1))
            places.append(rows)
        output = F.log_softmax(self.head(input), dim=1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        if not parts:
            return output
        within = aten.zeros_like(output).index_put((aten.cat(places),), aten.cat(parts))
        return output + within

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, ``(N, n_classes)``."""
        return self._get_full_log_prob(input, self.head(input))

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for cluster, layer in enumerate(self.tail):
            of_cluster = head[:, self.shortlist_size + cluster].unsqueeze(1)
            parts.append(F.log_softmax(layer(input), dim=1) + of_cluster)
        return aten.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each sample, ``(N)``. Clusters are computed only for
        samples whose head selects them.
        """
        head_output = self.head(input)
        found: Tensor = head_output.argmax(dim=1)
        is_rare = found >= self.shortlist_size
        if not bool(is_rare.any()):
            return found
        best = self._get_full_log_prob(input, head_output).argmax(dim=1)
        return best if bool(is_rare.all()) else aten.where(is_rare, best, found)
