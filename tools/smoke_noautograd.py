"""Without autograd: operators run, and asking for gradients names the package to install."""

from importlib.util import find_spec

from dovetail_dispatcher import ops

assert find_spec("dovetail_autograd") is None, "run this where dovetail-autograd is not installed"

ones = ops.aten.ones([3], device="cpu")
total = ops.aten.add(ones, ones, alpha=2)
assert total.array.tolist() == [3.0, 3.0, 3.0]

try:
    ones.requires_grad_()
except RuntimeError as error:
    assert "dovetail-autograd" in str(error), error
    print(f"1 + 2 * 1 = {total.array.tolist()}; gradients: {error}")
else:
    raise SystemExit("requires_grad_() passed without dovetail-autograd")
