"""Rows of the groups ``backward`` and ``models``: the engine, optimizers and whole steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .machinery import square
from .row import Row, Run

Make = Callable[[Any], Run]


def rows() -> Iterator[Row]:
    """Yield the rows."""
    for name, make in GRAPHS.items():
        yield Row("backward", "graphs", name, make, per=100 if "100" in name else 1)
    for expression in STEPPED:
        yield Row("backward", "operators", f"{expression}, and backward", stepped(expression))
    for name in OPTIMIZERS:
        yield Row("backward", "optimizers", f"{name}.step, 20 of 8×8", optimizing(name))
    yield Row("backward", "steps", "MLP 64-64-10, batch 32, SGD step", mlp_step)
    yield Row("backward", "steps", "MLP 64-64-10, batch 32, forward and loss", mlp_forward)
    for name, make in MODELS.items():
        yield Row("models", "models", name, make)


# -- the engine ------------------------------------------------------------------------------------


def chain(lib: Any) -> Run:
    """Return backward through 100 products, each on the one before."""
    x, y, seed = square(lib, grad=True), square(lib), square(lib)
    out = x
    for _ in range(100):
        out = out * y

    def run() -> None:
        x.grad = None
        out.backward(seed, retain_graph=True)

    return run


def fan_in(lib: Any) -> Run:
    """Return backward through 100 products that meet in sums."""
    x, y, seed = square(lib, grad=True), square(lib), square(lib)
    out = x * y
    for _ in range(99):
        out = out + x * y

    def run() -> None:
        x.grad = None
        out.backward(seed, retain_graph=True)

    return run


def grad_of_sum(lib: Any) -> Run:
    """Return autograd.grad of a sum of squares."""
    x = square(lib, grad=True)
    return lambda: lib.autograd.grad((x * x).sum(), x)


def backward_of_sum(lib: Any) -> Run:
    """Return backward of a sum of squares."""
    x = square(lib, grad=True)

    def run() -> None:
        x.grad = None
        (x * x).sum().backward()

    return run


def double_backward(lib: Any) -> Run:
    """Return the gradient of a gradient."""
    x = square(lib, grad=True)

    def run() -> None:
        (grad,) = lib.autograd.grad((x * x * x).sum(), x, create_graph=True)
        lib.autograd.grad(grad.sum(), x)

    return run


def hooked(lib: Any) -> Run:
    """Return backward through 100 products with a hook that looks at one gradient."""
    x, y, seed = square(lib, grad=True), square(lib), square(lib)
    out = x
    for _ in range(100):
        out = out * y
    out.register_hook(lambda grad: None)

    def run() -> None:
        x.grad = None
        out.backward(seed, retain_graph=True)

    return run


def transformed(lib: Any) -> Run:
    """Return func.grad of a sum of squares."""
    x = square(lib)
    function = lib.func.grad(lambda a: (a * a).sum())
    return lambda: function(x)


def accumulated(lib: Any) -> Run:
    """Return backward of a product into a leaf that has a gradient."""
    x, y, seed = square(lib, grad=True), square(lib), square(lib)
    x.grad = square(lib)
    return lambda: (x * y).backward(seed)


GRAPHS: dict[str, Make] = {
    "chain of 100 products": chain,
    "fan-in of 100 products": fan_in,
    "chain of 100 products, a hook": hooked,
    "autograd.grad((x * x).sum(), x)": grad_of_sum,
    "(x * x).sum().backward()": backward_of_sum,
    "(x * y).backward() into .grad": accumulated,
    "double backward of x³": double_backward,
    "func.grad of (x * x).sum()": transformed,
}

STEPPED = (
    "x * y",
    "x + y",
    "x @ y",
    "x.exp()",
    "x.sum()",
    "x.mean(0)",
    "lib.softmax(x, -1)",
    "lib.relu(x)",
    "x.reshape(-1)",
    "x.t()",
    "x[0]",
    "x[1:3]",
    "lib.cat([x, y])",
    "x.amax(0)",
    "x.var()",
    "lib.nn.functional.gelu(x)",
    "lib.nn.functional.layer_norm(x, (8,))",
    "lib.where(x > 0, x, y)",
    "x.clone().mul_(2)",
)


def stepped(expression: str) -> Make:
    """Return a row of an expression and its backward."""

    def make(lib: Any) -> Run:
        x, y = square(lib, grad=True), square(lib)
        made: dict[str, Any] = {"lib": lib}
        exec(
            f"def outer(lib, x, y):\n"
            f"    seed = lib.ones_like({expression})\n"
            f"    def run():\n"
            f"        x.grad = None\n"
            f"        ({expression}).backward(seed)\n"
            f"    return run\n",
            made,
        )
        run: Run = made["outer"](lib, x, y)
        return run

    return make


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 1e-3},
    "SGD momentum": {"lr": 1e-3, "momentum": 0.9},
    "Adam": {"lr": 1e-3},
    "AdamW": {"lr": 1e-3},
    "RMSprop": {"lr": 1e-3},
}


def optimizing(name: str) -> Make:
    """Return a row of an optimizer's step over twenty small parameters."""

    def make(lib: Any) -> Run:
        parameters = [lib.nn.Parameter(square(lib)) for _ in range(20)]
        for each in parameters:
            each.grad = square(lib)
        optimizer = getattr(lib.optim, name.split(maxsplit=1)[0])(parameters, **OPTIMIZERS[name])
        step: Run = optimizer.step
        return step

    return make


# -- models ----------------------------------------------------------------------------------------


def mlp(lib: Any) -> Any:
    """Return a small classifier, and a batch."""
    nn = lib.nn
    lib.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return model, lib.randn(32, 64), lib.randint(0, 10, (32,))


def mlp_step(lib: Any) -> Run:
    """Return one training step of the classifier."""
    return training(lib, *mlp(lib))


def mlp_forward(lib: Any) -> Run:
    """Return its forward and loss."""
    model, images, labels = mlp(lib)
    criterion = lib.nn.CrossEntropyLoss()
    return lambda: criterion(model(images), labels)


def training(lib: Any, model: Any, inputs: Any, labels: Any) -> Run:
    """Return one step of SGD on the cross entropy of a model."""
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01)
    criterion = lib.nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        criterion(model(inputs), labels).backward()
        optimizer.step()

    return step


def wide_mlp(lib: Any) -> Any:
    """Return a classifier of digits, and a batch."""
    nn = lib.nn
    lib.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    return model, lib.randn(64, 784), lib.randint(0, 10, (64,))


def cnn(lib: Any) -> Any:
    """Return two convolutions with pooling, and a batch."""
    nn = lib.nn
    lib.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 7 * 7, 10),
    )
    return model, lib.randn(32, 1, 28, 28), lib.randint(0, 10, (32,))


def lstm(lib: Any) -> Any:
    """Return an LSTM with a head, and a batch."""
    nn = lib.nn
    lib.manual_seed(0)

    class Reader(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(32, 64, batch_first=True)
            self.head = nn.Linear(64, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    return Reader(), lib.randn(16, 20, 32), lib.randint(0, 10, (16,))


def gpt(lib: Any) -> Any:
    """Return a block of a transformer with embeddings and a head, and a batch."""
    nn, functional = lib.nn, lib.nn.functional
    lib.manual_seed(0)

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, width: int = 64, heads: int = 4, words: int = 65) -> None:
            super().__init__()
            self.heads = heads
            self.embedding = nn.Embedding(words, width)
            self.position = nn.Parameter(lib.zeros(32, width))
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )
            self.head = nn.Linear(width, words)

        def forward(self, words):
            x = self.embedding(words) + self.position
            batch, length, width = x.shape
            parts = self.qkv(self.norm1(x)).split(width, dim=2)
            q, k, v = (
                part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                for part in parts
            )
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            x = x + self.mlp(self.norm2(x))
            return self.head(x).flatten(0, 1)

    return Block(), lib.randint(0, 65, (8, 32)), lib.randint(0, 65, (8 * 32,))


def forward_of(model: Callable[[Any], Any]) -> Make:
    """Return a row of a model's forward without a graph."""

    def make(lib: Any) -> Run:
        made, inputs, _ = model(lib)

        def run() -> None:
            with lib.no_grad():
                made(inputs)

        return run

    return make


def step_of(model: Callable[[Any], Any]) -> Make:
    """Return a row of a model's training step."""
    return lambda lib: training(lib, *model(lib))


MODELS: dict[str, Make] = {
    f"{name}, {what}": row(model)
    for name, model in (("MLP", wide_mlp), ("CNN", cnn), ("LSTM", lstm), ("GPT block", gpt))
    for what, row in (("forward", forward_of), ("step", step_of))
}
