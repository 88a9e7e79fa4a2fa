"""Rows about kernels: a million elements in the shapes that layers have.

They were added to the list after its first measurement, and are a group of their own. A text in
`STEPPED` is measured twice: alone, and with the backward to all that requires grad.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .row import Row, Run, expression

GROUP = "kernels"

STEPPED: dict[str, tuple[str, ...]] = {
    "activations": (
        *(f"F.{name}(line)" for name in ("leaky_relu", "elu", "softplus", "mish", "hardswish")),
        *(f"F.{name}(line)" for name in ("relu", "gelu", "silu", "hardtanh", "logsigmoid")),
        "F.gelu(line, approximate='tanh')",
        "lib.sigmoid(line)",
        "lib.tanh(line)",
        "F.glu(x)",
    ),
    "softmax": ("lib.softmax(rows, -1)", "lib.log_softmax(rows, -1)", "lib.softmax(image, 1)"),
    "losses": (
        "F.cross_entropy(rows, classes)",
        "F.nll_loss(rows, classes)",
        "F.mse_loss(line, other)",
        "F.l1_loss(line, other)",
        "F.smooth_l1_loss(line, other)",
        "F.huber_loss(line, other)",
        "F.binary_cross_entropy_with_logits(line, positive.clamp(max=1))",
    ),
    "normalization": (
        "F.layer_norm(rows, (256,), scale, shift)",
        "F.rms_norm(rows, (256,), scale)",
        "F.batch_norm(image, None, None, scale[:64], shift[:64], True)",
        "F.group_norm(image, 8, scale[:64], shift[:64])",
        "F.instance_norm(image)",
        "F.normalize(rows, dim=1)",
    ),
    "convolutions": (
        "F.conv2d(image, small)",
        "F.conv2d(image, square, padding=1)",
        "F.conv2d(image, square, stride=2, padding=1)",
        "F.conv2d(image, square, dilation=2, padding=2)",
        "F.conv2d(image, apart, padding=1, groups=64)",
        "F.conv2d(image, parted, padding=1, groups=4)",
        "F.conv2d(colours, wide, stride=2, padding=3)",
        "F.conv1d(sequence, narrow, padding=2)",
        "F.conv3d(volume, cube, padding=1)",
        "F.conv_transpose2d(image, turned, stride=2, padding=1)",
    ),
    "pooling": (
        "F.max_pool2d(image, 2)",
        "F.max_pool2d(image, 3, 2, 1)",
        "F.avg_pool2d(image, 2)",
        "F.avg_pool2d(image, 3, 1, 1)",
        "F.adaptive_avg_pool2d(image, 7)",
        "F.adaptive_max_pool2d(image, 7)",
        "F.adaptive_max_pool2d(image, 5)",
        "F.max_pool1d(sequence, 2)",
        "F.max_pool3d(volume, 2)",
        "F.interpolate(image, scale_factor=2, mode='bilinear')",
        "F.interpolate(image, scale_factor=2, mode='nearest')",
        "F.unfold(image, 3, padding=1)",
    ),
    "attention": (
        "F.scaled_dot_product_attention(q, q, q)",
        "F.scaled_dot_product_attention(q, q, q, is_causal=True)",
    ),
    "recurrence": ("lstm(steps)[0]", "gru(steps)[0]", "rnn(steps)[0]"),
    "indexing": (
        "x.gather(1, places)",
        "x.scatter(1, places, x)",
        "x.scatter_add(1, places, x)",
        "x[row]",
        "x.index_select(1, row)",
        "x.index_add(0, row, x)",
        "x.index_add(1, row, x)",
        "x[mask]",
        "x.masked_fill(mask, 0.0)",
        "lib.where(mask, x, y)",
        "F.pad(image, (2, 2, 2, 2), mode='reflect')",
        "lib.cat([x, y], 1)",
    ),
    "scans": ("x.cumsum(0)", "x.cumsum(1)", "line.cumsum(0)", "x.cumprod(1)"),
    "products": ("x @ y", "F.linear(rows, weight, bias)", "lib.einsum('bij,jk->bik', batch, core)"),
}

PLAIN: dict[str, tuple[str, ...]] = {
    "pointwise": (
        *(f"lib.{name}(line)" for name in ("exp", "sin", "erf", "expm1", "sign", "floor", "isnan")),
        *(f"lib.{name}(positive)" for name in ("log", "log1p", "sqrt", "rsqrt")),
        "x + x[0]",
        "x + x[:, :1]",
        "line.clamp(-0.5, 0.5)",
        "line.clamp(min=-0.5)",
        "positive ** 2.5",
        "lib.remainder(line, 0.7)",
        "whole // 7",
    ),
    "reductions": (
        *(f"x.{name}({dim})" for name in ("sum", "mean", "var", "amax", "prod") for dim in (0, 1)),
        "x.sum()",
        "x.norm()",
        "x.logsumexp(1)",
        "x.argmax(1)",
        "x.median(1)",
        "mask.any()",
        "lib.count_nonzero(mask)",
    ),
    "order": (
        "x.sort()",
        "x.sort(0)",
        "line.sort()",
        "whole.sort()",
        "x.argsort(descending=True)",
        "x.topk(10)",
        "x.kthvalue(100)",
        "lib.unique(whole)",
        "lib.histc(line, 100)",
    ),
    "memory": (
        "x.t().contiguous()",
        "image.permute(0, 2, 3, 1).contiguous()",
        "lib.stack([x, y], -1)",
        "x.roll(100, 1)",
        "x.flip(1)",
        "x.tril()",
        "x.repeat(2, 2)",
    ),
    "dtypes": (
        "x.to(lib.bfloat16)",
        "brain.float()",
        "x.half()",
        "half.float()",
        "brain + brain",
        "half * half",
        "lib.softmax(brain, -1)",
        "brain[:256] @ brain",
        "x.double()",
        "x.long()",
    ),
    "random": (
        "lib.bernoulli(chance)",
        "F.dropout(line, 0.3)",
        "lib.poisson(rate)",
        "lib.binomial(rate, chance[:65536])",
        "lib._standard_gamma(rate)",
    ),
}


def rows() -> Iterator[Row]:
    """Yield all rows."""
    for family in dict.fromkeys((*PLAIN, *STEPPED)):
        for text in (*PLAIN.get(family, ()), *STEPPED.get(family, ())):
            yield Row(GROUP, family, text, expression(text, scope))
        for text in STEPPED.get(family, ()):
            yield Row(GROUP, family, f"{text}, step", stepped(text))


def stepped(text: str) -> Any:
    """Return a row of an expression with the backward to all leaves that it is made of."""

    def make(lib: Any) -> Run:
        names = scope(lib, True)
        code = compile(text, "row", "eval")
        used = [names[name] for name in code.co_names if name in names]
        leaves = [each for each in used if getattr(each, "requires_grad", False)]
        for module in [each for each in used if hasattr(each, "parameters")]:
            leaves += list(module.parameters())
        seed = lib.ones_like(eval(code, names)).detach()
        return lambda: lib.autograd.grad(eval(code, names), leaves, seed, allow_unused=True)

    return make


def scope(lib: Any, grad: bool) -> dict[str, Any]:
    """Return the names of the expressions for a library."""
    import numpy as np  # after the environment is set

    rng = np.random.default_rng(0)

    def normal(*shape: int, scale: float = 1.0) -> Any:
        made = lib.from_numpy((rng.standard_normal(shape) * scale).astype(np.float32))
        return made.requires_grad_() if grad else made

    def integers(low: int, high: int, *shape: int) -> Any:
        return lib.from_numpy(rng.integers(low, high, shape))

    lib.manual_seed(0)
    x, many = normal(1024, 1024), 1 << 20
    return {
        "lib": lib,
        "F": lib.nn.functional,
        "x": x,
        "y": normal(1024, 1024),
        "brain": x.detach().to(lib.bfloat16),
        "half": x.detach().half(),
        "line": normal(many),
        "other": normal(many),
        "positive": lib.from_numpy(rng.uniform(0.1, 3, many).astype(np.float32)),
        "whole": integers(-1000, 1000, many),
        "rows": normal(4096, 256),
        "classes": integers(0, 256, 4096),
        "scale": normal(256),
        "shift": normal(256),
        "weight": normal(512, 256, scale=0.05),
        "bias": normal(512),
        "batch": normal(64, 128, 128),
        "core": normal(128, 128),
        "image": normal(16, 64, 28, 28),
        "small": normal(128, 64, 1, 1, scale=0.1),
        "square": normal(64, 64, 3, 3, scale=0.05),
        "apart": normal(64, 1, 3, 3),
        "parted": normal(64, 16, 3, 3, scale=0.1),
        "turned": normal(64, 32, 4, 4, scale=0.05),
        "colours": normal(8, 3, 96, 96),
        "wide": normal(32, 3, 7, 7, scale=0.1),
        "sequence": normal(16, 64, 512),
        "narrow": normal(64, 64, 5, scale=0.05),
        "volume": normal(2, 16, 16, 32, 32),
        "cube": normal(16, 16, 3, 3, 3, scale=0.05),
        "q": normal(4, 8, 256, 64),
        "steps": normal(64, 16, 128),
        "lstm": lib.nn.LSTM(128, 128),
        "gru": lib.nn.GRU(128, 128),
        "rnn": lib.nn.RNN(128, 128),
        "places": integers(0, 1024, 1024, 1024),
        "row": integers(0, 1024, 1024),
        "mask": lib.from_numpy(rng.random((1024, 1024)) < 0.5),
        "chance": lib.full((many,), 0.3),
        "rate": lib.full((1 << 16,), 3.0),
    }
