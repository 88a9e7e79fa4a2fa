"""What the steps of random programs may be: each a function of the library, three operands and a
number.

Left out, or guarded, is what differs without mattering here: which of several errors an operator
finds first for sizes of zero and tensors without dimensions, signs of zeros, composites whose parts
PyTorch chooses by size (einsum, products of more than two dimensions), the memory order of what
copies in C order here (sort, flip) and of where, partial writes before an error, values that
overlap the destination, gradients of complex numbers that PyTorch has not got, and `repeat` of
inference tensors, which PyTorch makes a view of memory that nobody has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

SCALARS = [2, 0.5, -1, 1.5, 3, -0.5, 0, 1]
DIMS = [0, -1, 1, 0, -2, 2]

Operation = Callable[[Any, Any, Any, Any, int], Any]
OPERATIONS: dict[str, Operation] = {}


def scalar(number: int) -> Any:
    return SCALARS[number % len(SCALARS)]


def dim(number: int) -> int:
    return DIMS[number % len(DIMS)]


def _first(tensor: Any, number: int) -> Any:
    """Return the first element along a dimension: where an index is there twice, PyTorch gives
    gradient to what is overwritten too.
    """
    return tensor.narrow(dim(number), 0, 1) if tensor.ndim and tensor.numel() else tensor


def unary(names: str) -> None:
    for name in names.split():
        OPERATIONS[name] = lambda lib, a, b, c, n, name=name: getattr(a, name)()


def binary(names: str) -> None:
    for name in names.split():
        OPERATIONS[name] = lambda lib, a, b, c, n, name=name: getattr(a, name)(b)


def with_scalar(names: str) -> None:
    for name in names.split():
        OPERATIONS[f"{name}(scalar)"] = lambda lib, a, b, c, n, name=name: getattr(a, name)(
            scalar(n)
        )


def with_dim(names: str) -> None:
    for name in names.split():
        OPERATIONS[f"{name}(dim)"] = lambda lib, a, b, c, n, name=name: getattr(a, name)(dim(n))


def with_dim_and_keepdim(names: str) -> None:
    for name in names.split():
        OPERATIONS[f"{name}(dim)"] = lambda lib, a, b, c, n, name=name: getattr(a, name)(
            dim(n), keepdim=n % 2 == 1
        )


def cross_entropy(lib: Any, a: Any, number: int) -> Any:
    classes = lib.arange(a.shape[0]) % max(a.shape[-1], 1)
    return lib.nn.functional.cross_entropy(
        a, classes, reduction=["mean", "sum", "none"][number % 3]
    )


def write(tensor: Any, index: Any, value: Any) -> None:
    tensor[index] = value


unary("relu sigmoid tanh exp log sqrt abs neg sin cos square log1p expm1 logical_not")
unary(
    "isnan clone t contiguous flatten squeeze sum mean amax amin max min argmax all any var std "
    "norm"
)
unary("relu_ exp_ sqrt_ neg_ zero_ sigmoid_ tanh_ unbind double half float tril triu atan")
binary("add sub mul div pow maximum minimum mm dot outer eq lt gt ge ne")
binary("add_ sub_ mul_ div_ pow_ view_as __rsub__ __rtruediv__ bmm")
with_scalar(
    "add sub mul div pow eq lt gt ge ne add_ sub_ mul_ div_ pow_ fill_ __rsub__ __rtruediv__"
)
with_scalar("__rpow__ clamp clamp_ __radd__ __rmul__ __add__ __iadd__ __imul__")
with_dim_and_keepdim("sum mean amax amin max min argmax all any var std logsumexp")
with_dim("softmax log_softmax unsqueeze squeeze unbind")


def of_leaf(names: str) -> None:
    """Add steps of steps: only leaves are exact, of anything else a rounding error would decide."""
    for name in names.split():
        OPERATIONS[name] = lambda lib, a, b, c, n, name=name: (
            getattr(a, name)() if a.is_leaf else None
        )


of_leaf("sign floor trunc round ceil")
OPERATIONS |= {
    "erf": lambda lib, a, b, c, n: a.erf(),
    "flip(dim)": lambda lib, a, b, c, n: a.contiguous().flip(dim(n)),
    "sort(dim)": lambda lib, a, b, c, n: a.contiguous().sort(dim(n)),
    # Copies, since PyTorch's derivative of a product looks at the result, and Dovetail's at the
    # factors again.
    "prod": lambda lib, a, b, c, n: a.clone().prod(),
    "prod(dim)": lambda lib, a, b, c, n: a.clone().prod(dim(n), keepdim=n % 2 == 1),
    "cumsum": lambda lib, a, b, c, n: a.cumsum(dim(n)),
    "cumprod": lambda lib, a, b, c, n: a.clone().cumprod(dim(n)),
    "remainder": lambda lib, a, b, c, n: a.remainder(b) + 0.0,
    "fmod": lambda lib, a, b, c, n: a.fmod(scalar(n)) + 0.0,
    "add(alpha)": lambda lib, a, b, c, n: lib.add(a, b, alpha=scalar(n)),
    "sub(alpha)": lambda lib, a, b, c, n: a.sub(b, alpha=scalar(n)),
    "clamp(min)": lambda lib, a, b, c, n: a.clamp(min=scalar(n)),
    "where": lambda lib, a, b, c, n: (
        lib.where(a > scalar(n), b.contiguous(), c.contiguous())
        if b.is_complex() == c.is_complex()
        else None
    ),
    "where(scalar)": lambda lib, a, b, c, n: lib.where(a < b, c, scalar(n)),
    "lerp": lambda lib, a, b, c, n: lib.lerp(a, b.to(a.dtype), c.to(a.dtype)),
    "lerp(scalar)": lambda lib, a, b, c, n: lib.lerp(a, b.to(a.dtype), 0.5),
    "addmm": lambda lib, a, b, c, n: lib.addmm(a, b, c, beta=scalar(n)),
    "linear": lambda lib, a, b, c, n: lib.nn.functional.linear(a, b, c),
    "cross_entropy": lambda lib, a, b, c, n: cross_entropy(lib, a, n),
    "addcmul": lambda lib, a, b, c, n: lib.addcmul(a, b, c, value=scalar(n)),
    "addcdiv": lambda lib, a, b, c, n: (
        lib.addcdiv(a, b, c, value=scalar(n)) if c.is_floating_point() or c.is_complex() else None
    ),
    "cat": lambda lib, a, b, c, n: (
        lib.cat([a, b, c], dim(n))
        if a.ndim == b.ndim == c.ndim > 0 and min(a.numel(), b.numel(), c.numel())
        else None
    ),
    "stack": lambda lib, a, b, c, n: lib.stack([a, b, c][: 2 + n % 2], dim(n)),
    "sum(dims)": lambda lib, a, b, c, n: a.sum((0, dim(n))),
    "mean(dims)": lambda lib, a, b, c, n: a.mean((-1, -2), keepdim=n % 2 == 0),
    "sum(dtype)": lambda lib, a, b, c, n: a.sum(dtype=lib.float64),
    "view": lambda lib, a, b, c, n: a.contiguous().view(-1),
    "view(shape)": lambda lib, a, b, c, n: a.contiguous().view(3, -1),
    "reshape": lambda lib, a, b, c, n: a.reshape(-1, [1, 2, 3][n % 3]),
    "select": lambda lib, a, b, c, n: a.select(dim(n), n % 3),
    "narrow": lambda lib, a, b, c, n: a.narrow(dim(n), n % 2, 1 + n % 2),
    "expand": lambda lib, a, b, c, n: a.expand(2, -1, 3).mul(1) if n % 2 else a.expand(2, 3).mul(1),
    "transpose": lambda lib, a, b, c, n: a.transpose(0, dim(n)),
    "permute": lambda lib, a, b, c, n: a.permute(*[(1, 0), (2, 0, 1), (0,), (-1, 0)][n % 4]),
    "movedim": lambda lib, a, b, c, n: a.movedim(0, dim(n)),
    "diagonal": lambda lib, a, b, c, n: a.diagonal(n % 3 - 1),
    "split": lambda lib, a, b, c, n: a.split(1 + n % 3, dim(n)),
    "chunk": lambda lib, a, b, c, n: a.chunk(1 + n % 3, dim(n)),
    "repeat": lambda lib, a, b, c, n: None if a.is_inference() else a.repeat(2, 1 + n % 2),
    "roll": lambda lib, a, b, c, n: a.roll(1, dim(n)) if a.ndim and a.numel() else None,
    "topk": lambda lib, a, b, c, n: a.topk(1 + n % 2, dim(n)),
    "to": lambda lib, a, b, c, n: a.to([lib.float64, lib.float32, lib.float16, lib.int64][n % 4]),
    "a[i]": lambda lib, a, b, c, n: a[n % 3],
    "a[i:]": lambda lib, a, b, c, n: a[n % 3 :: 1 + n % 2],
    "a[..., i]": lambda lib, a, b, c, n: a[..., n % 3],
    "a[None]": lambda lib, a, b, c, n: a[None],
    "a[:, i:]": lambda lib, a, b, c, n: a[:, 1 + n % 2 :],
    "a[list]": lambda lib, a, b, c, n: a[[0, n % 3, 0]],
    "a[mask]": lambda lib, a, b, c, n: a[a > scalar(n)],
    "a[b > s]": lambda lib, a, b, c, n: a[b > scalar(n)],
    "a[i] = s": lambda lib, a, b, c, n: write(a, n % 3, scalar(n)),
    "a[i] = b": lambda lib, a, b, c, n: write(a, n % 3, b.clone()),
    "a[..., i:] = b": lambda lib, a, b, c, n: write(a, (..., slice(1 + n % 2, None)), b.clone()),
    "a[mask] = s": lambda lib, a, b, c, n: write(a, a > 0, scalar(n)),
    "a[mask] = c": lambda lib, a, b, c, n: write(a, a > 0, c.sum().to(a.dtype)),
    "a[list] = b": lambda lib, a, b, c, n: (
        write(a, [0, -1], b.to(a.dtype, copy=True)) if a.numel() and a.shape[0] > 1 else None
    ),
    "a[-2:] = b": lambda lib, a, b, c, n: write(a, slice(-2, None), b.clone()),
    "index_select": lambda lib, a, b, c, n: (
        a.index_select(dim(n), lib.tensor([0])) if a.numel() else None
    ),
    "gather": lambda lib, a, b, c, n: a.clone().gather(dim(n), lib.zeros_like(b, dtype=lib.int64)),
    "masked_fill": lambda lib, a, b, c, n: a.masked_fill(b > 0, scalar(n)),
    "masked_fill_": lambda lib, a, b, c, n: a.masked_fill_(b > 0, scalar(n)),
    "masked_select": lambda lib, a, b, c, n: a.masked_select(b > 0),
    "scatter": lambda lib, a, b, c, n: a.scatter(
        dim(n), lib.zeros_like(_first(b, n), dtype=lib.int64), _first(b, n).to(a.dtype)
    ),
    "view().mul_": lambda lib, a, b, c, n: a[0].mul_(scalar(n)),
    "t().add_": lambda lib, a, b, c, n: a.t().add_(b),
    "detach": lambda lib, a, b, c, n: a.detach().clone() if a._is_view() else a.detach(),
    "detach().mul_": lambda lib, a, b, c, n: (
        None if a._is_view() or a.is_inference() else a.detach().mul_(scalar(n))
    ),
    "a.data": lambda lib, a, b, c, n: a.data,
    "rsqrt": lambda lib, a, b, c, n: (a * a + 1).rsqrt(),
    "reciprocal": lambda lib, a, b, c, n: (a * a + 0.5).reciprocal(),
    "matmul": lambda lib, a, b, c, n: (
        a @ b if max(a.ndim, b.ndim) < 3 and a.numel() and b.numel() else None
    ),
    "mv": lambda lib, a, b, c, n: a.mv(b) if a.ndim == 2 and b.ndim == 1 else None,
    "atan2": lambda lib, a, b, c, n: a.atan2(b * b + 1),
    "reuse": lambda lib, a, b, c, n: a * a + a,
    "grad mode inside": lambda lib, a, b, c, n: enabled(lib, a, b),
}


def enabled(lib: Any, a: Any, b: Any) -> Any:
    with lib.enable_grad():
        return a * b


@cache
def functions(lib: Any) -> dict[str, Any]:
    """Return custom Functions of a library."""

    class Square(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * grad

    class Double_(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    class Both(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            product, mask = x * y, x > y
            ctx.mark_non_differentiable(mask)
            ctx.save_for_backward(x, y)
            return product, mask

        @staticmethod
        def backward(ctx: Any, grad: Any, _: Any) -> Any:
            x, y = ctx.saved_tensors
            return (
                grad * y if x.shape == grad.shape else None,
                grad * x if y.shape == grad.shape else None,
            )

    class Same(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    class Second(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return y * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, grad * 2

    return {"square": Square, "double_": Double_, "both": Both, "same": Same, "second": Second}


def quietly(call: Callable[[], Any]) -> None:
    """Run a call whose result is no tensor."""
    call()


def kept(tensor: Any) -> Any:
    """Return a tensor whose gradient is kept from now on."""
    tensor.retain_grad()


OPERATIONS |= {
    "add(out=)": lambda lib, a, b, c, n: lib.add(a, b, out=c.clone()),
    "mul(out=new)": lambda lib, a, b, c, n: lib.mul(a, b, out=lib.empty(0, dtype=a.dtype)),
    "exp(out=)": lambda lib, a, b, c, n: lib.exp(a, out=c.detach().clone()),
    "detach_": lambda lib, a, b, c, n: a.detach_(),
    "requires_grad_": lambda lib, a, b, c, n: a.requires_grad_(n % 3 != 0),
    "retain_grad": lambda lib, a, b, c, n: kept(a),
    "register_hook": lambda lib, a, b, c, n: quietly(
        lambda: a.register_hook(lambda grad: grad * 2)
    ),
    "data.mul_": lambda lib, a, b, c, n: quietly(lambda: a.data.mul_(scalar(n))),
    "no_grad view": lambda lib, a, b, c, n: unrecorded_view(lib, a),
    "Function square": lambda lib, a, b, c, n: functions(lib)["square"].apply(a),
    "Function double_": lambda lib, a, b, c, n: functions(lib)["double_"].apply(
        a.clone() if a._is_view() else a
    ),
    "Function both": lambda lib, a, b, c, n: functions(lib)["both"].apply(a, b),
    "Function same": lambda lib, a, b, c, n: functions(lib)["same"].apply(a),
    "copy_": lambda lib, a, b, c, n: a.copy_(b.clone()),
    "index_put_": lambda lib, a, b, c, n: (
        a.index_put_((lib.tensor([0, 1]),), c.sum().to(a.dtype), n % 2 == 1)
        if a.ndim and a.shape[0] > 1
        else None
    ),
    "index_put": lambda lib, a, b, c, n: (
        a.index_put((lib.tensor([0, (n + 1) % 2]),), b.to(a.dtype, copy=True), n % 2 == 1)
        if n % 2 == 1 or (a.ndim and a.shape[0] > 1)
        else None
    ),
    "index_add": lambda lib, a, b, c, n: (
        a.index_add(dim(n), lib.tensor([0, 1]), b) if a.ndim and b.ndim else None
    ),
    "a[i, j]": lambda lib, a, b, c, n: a[n % 2, n % 3],
    "a[i][j] = b": lambda lib, a, b, c, n: write(a[n % 2], n % 2, b.clone()),
    "a[:, 0].add_": lambda lib, a, b, c, n: a[:, 0].add_(b.clone()),
    "a.t()[0].mul_": lambda lib, a, b, c, n: a.t()[0].mul_(scalar(n)),
    "a[0].view.exp_": lambda lib, a, b, c, n: a[0].view(-1).exp_() if a.is_leaf else None,
    "a[1:].sqrt_": lambda lib, a, b, c, n: a[1:].sqrt_(),
    "a[1:].sigmoid_": lambda lib, a, b, c, n: a[1:].sigmoid_(),
    "unbind[0].mul_": lambda lib, a, b, c, n: a.unbind()[0].mul_(2),
    "view_as_real": lambda lib, a, b, c, n: lib.view_as_real(a),
    "view_as_complex": lambda lib, a, b, c, n: (
        lib.view_as_complex(a) if a.dtype != lib.float16 else None
    ),
    "real": lambda lib, a, b, c, n: a.real.clone(),
    "imag": lambda lib, a, b, c, n: a.imag if a.is_complex() else None,
    "to(complex)": lambda lib, a, b, c, n: a.to(lib.complex128),
    "a == b": lambda lib, a, b, c, n: a == b,
    "a < b": lambda lib, a, b, c, n: a < b,
    "~a": lambda lib, a, b, c, n: ~a,
    "a & b": lambda lib, a, b, c, n: a & b,
    "a // s": lambda lib, a, b, c, n: a // 2,
    "maximum(s)": lambda lib, a, b, c, n: lib.maximum(a, lib.tensor(0.5)),
    "where(ints)": lambda lib, a, b, c, n: lib.where(a.contiguous() > 0, a.contiguous(), 1),
    "gelu": lambda lib, a, b, c, n: lib.nn.functional.gelu(a),
    "silu": lambda lib, a, b, c, n: lib.nn.functional.silu(a) if not a.is_complex() else None,
    "softplus": lambda lib, a, b, c, n: lib.nn.functional.softplus(a),
    "leaky_relu": lambda lib, a, b, c, n: lib.nn.functional.leaky_relu(a, 0.1),
    "elu": lambda lib, a, b, c, n: lib.nn.functional.elu(a),
    "mse_loss": lambda lib, a, b, c, n: (
        lib.nn.functional.mse_loss(a, b, reduction="sum") if a.shape == b.shape else None
    ),
    "l1_loss": lambda lib, a, b, c, n: (
        lib.nn.functional.l1_loss(a, b) if a.shape == b.shape else None
    ),
    "linear": lambda lib, a, b, c, n: (
        lib.nn.functional.linear(a, b) if a.ndim == b.ndim == 2 else None
    ),
    "layer_norm": lambda lib, a, b, c, n: (
        lib.nn.functional.layer_norm(a, a.shape[-1:]) if a.ndim and a.shape[-1] > 2 else None
    ),
    "repeat_interleave by expand": lambda lib, a, b, c, n: (
        a.unsqueeze(-1).expand(*a.shape, 2).reshape(*a.shape[:-1], -1) if a.ndim else None
    ),
    "as_strided": lambda lib, a, b, c, n: (
        a.as_strided((2,), (1,)) if a.is_contiguous() and a.numel() > 1 else None
    ),
    "flatten.mul_": lambda lib, a, b, c, n: a.flatten().mul_(2) if a.is_contiguous() else None,
    "unflatten": lambda lib, a, b, c, n: a.unflatten(-1, (-1, 1)) if a.ndim else None,
    "tensor_split views": lambda lib, a, b, c, n: a.split([1, 2], dim(n)),
    "copy_ from ints": lambda lib, a, b, c, n: a.copy_(lib.ones(a.shape, dtype=lib.int64)),
    "fill_(tensor)": lambda lib, a, b, c, n: a.fill_(b) if a.is_floating_point() else None,
    "swap": lambda lib, a, b, c, n: a.transpose(0, -1).reshape(-1),
}


OPERATIONS |= {
    "view_as_real.mul_": lambda lib, a, b, c, n: (
        lib.view_as_real(a).mul_(scalar(n)) if a.is_complex() else None
    ),
    "view_as_complex.mul_": lambda lib, a, b, c, n: (
        lib.view_as_complex(a).mul_(2j) if a.dtype in (lib.float32, lib.float64) else None
    ),
    "imag.mul_": lambda lib, a, b, c, n: a.imag.mul_(scalar(n)) if a.is_complex() else None,
    "real = b": lambda lib, a, b, c, n: write(a.real, ..., b.clone()) if a.is_complex() else None,
    "a[:] = a[0]": lambda lib, a, b, c, n: write(a, slice(None), a[0]) if a.ndim == 1 else None,
    "fill_(a[0])": lambda lib, a, b, c, n: a.fill_(a[0]) if a.ndim == 1 else None,
    "a[:, 0] = c": lambda lib, a, b, c, n: (
        write(a, (slice(None), 0), c.sum().to(a.dtype)) if a.ndim > 1 else None
    ),
    "a[i, j lists]": lambda lib, a, b, c, n: a[[0, 1], [n % 2, 0]] if a.ndim > 1 else None,
    # Sums that only rounding keeps from zero are none.
    "a[row mask]": lambda lib, a, b, c, n: a[a.sum(-1) > 1e-6] if a.ndim > 1 else None,
    "a[:, None, i]": lambda lib, a, b, c, n: a[:, None, n % 3] if a.ndim > 1 else None,
    "copy_ expanded": lambda lib, a, b, c, n: (
        a.copy_(a[:1].clone().expand(a.shape)) if a.ndim else None
    ),
    "mul_(bool)": lambda lib, a, b, c, n: a.mul_(b > 0),
    "tril_": lambda lib, a, b, c, n: a.tril_(),
    "mT": lambda lib, a, b, c, n: a.mT if a.ndim > 1 else None,
    "no_grad write": lambda lib, a, b, c, n: unrecorded_write(lib, a, n),
    "node pre-hook": lambda lib, a, b, c, n: (
        a.grad_fn and quietly(lambda: a.grad_fn.register_prehook(halved))
    ),
    "Function of second": lambda lib, a, b, c, n: functions(lib)["second"].apply(a, b),
    "zeros_like": lambda lib, a, b, c, n: lib.zeros_like(a),
    "nan_to_num": lambda lib, a, b, c, n: a.nan_to_num(1.0) if not a.is_complex() else None,
    "cat views": lambda lib, a, b, c, n: lib.cat([a[:1], a]) if a.ndim else None,
    "norm(p)": lambda lib, a, b, c, n: (
        a.norm([1, 2, 3][n % 3], dim=-1) if a.ndim and a.is_floating_point() else None
    ),
    "addmv": lambda lib, a, b, c, n: lib.addmv(c, a, b) if a.ndim == 2 and b.ndim == 1 else None,
    "baddbmm": lambda lib, a, b, c, n: lib.baddbmm(c, a, b) if a.ndim == b.ndim == 3 else None,
    "cross_entropy": lambda lib, a, b, c, n: (
        lib.nn.functional.cross_entropy(a, lib.zeros(a.shape[0], dtype=lib.int64))
        if a.ndim == 2 and a.numel()
        else None
    ),
    "logaddexp": lambda lib, a, b, c, n: (
        lib.logaddexp(a, b) if not a.is_complex() and not b.is_complex() else None
    ),
    "hypot": lambda lib, a, b, c, n: lib.hypot(a, b),
    "xlogy": lambda lib, a, b, c, n: lib.xlogy(a, b * b + 1),
    "clamp(min=b)": lambda lib, a, b, c, n: a.clamp(min=b),
    "masked_fill(c)": lambda lib, a, b, c, n: a.masked_fill(b > 0, c.sum().to(a.dtype)),
    "scatter_add": lambda lib, a, b, c, n: (
        a.scatter_add(dim(n), lib.zeros_like(a, dtype=lib.int64), a.clone()) if a.numel() else None
    ),
}


def halved(grads: Any) -> Any:
    """Return gradients that came to a node halved."""
    return tuple([grad if grad is None else grad / 2 for grad in grads])


def unrecorded_write(lib: Any, a: Any, number: int) -> None:
    with lib.no_grad():
        a.mul_(scalar(number))


def unrecorded_view(lib: Any, a: Any) -> Any:
    with lib.no_grad():
        return a.detach()[...]


IN_PLACE = (
    *(
        "_",
        "_(scalar)",
        "= s",
        "= b",
        "= c",
        "(alpha)",
        "_ from ints",
        "_(tensor)",
        "(out=)",
        "= a[0]",
        "_(a[0])",
    ),
    *("_ expanded", "_(bool)", "write"),
)
"""How the names of operations end that may write to their first operand (or, for ``out=``, to
another).
"""
