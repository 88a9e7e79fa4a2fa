"""Calls of the kernels of losses and normalization."""

from __future__ import annotations

from .operands import ONE, TARGET, X, Y, same

CALLS = {
    **same("mse_loss smooth_l1_loss binary_cross_entropy_with_logits", X, Y),
    **same("mse_loss_backward", ONE, X, Y, 1),
    **same("smooth_l1_loss_backward", ONE, X, Y, 1, 0.5),
    **same("nll_loss_forward", X, TARGET, None, 1, -100),
    **same("nll_loss_backward", ONE, X, TARGET, None, 1, -100, ONE),
    **same("native_layer_norm", X, (3,), None, None, 1e-5),
    **same("native_layer_norm_backward", X, X, (3,), Y[:, :1], Y[:, :1], None, None, (True,) * 3),
}
