"""Train a classifier of handwritten digits, every call through the dispatcher, and show which
kernels ran.

Run by ``make demo``. The data are the 1,797 real scans of 8×8 pixels from the UCI repository
("Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak) that come with
scikit-learn.
"""

from __future__ import annotations

import time
from pathlib import Path

from dovetail_activations import Squareplus
from loss_curve import write_loss_curve
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import dovetail
from dovetail import Tensor, nn
from dovetail.command import app

EPOCHS = 30
BATCH = 32
SEED = 0
OUT = Path("out")

console = Console()


def load() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return training images (N, 64) in [-1, 1], training labels (N,), test images and test
    labels.
    """
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(
        images / 8 - 1, labels, test_size=0.2, stratify=labels, random_state=SEED
    )
    train_images, test_images, train_labels, test_labels = map(dovetail.from_numpy, split)
    return train_images.float(), train_labels.long(), test_images.float(), test_labels.long()


def make_model() -> nn.Module:
    """Return a multilayer perceptron 64-128-10 with the third-party activation between its
    layers.
    """
    return nn.Sequential(nn.Linear(64, 128), Squareplus(b=1.0), nn.Dropout(0.2), nn.Linear(128, 10))


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Return the fraction of `images` that `model` classifies as `labels`."""
    model.eval()
    with dovetail.no_grad():
        correct = model(images).argmax(1) == labels
    model.train()
    return correct.float().mean().item()


def train() -> tuple[nn.Module, Tensor, float]:
    """Train, show progress, write the loss curve; return the model, the test images and the test
    accuracy.
    """
    images, labels, test_images, test_labels = load()
    model = make_model()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = dovetail.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.1)
    scheduler = dovetail.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    losses: list[float] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=EPOCHS)
        for epoch in range(1, EPOCHS + 1):
            order = dovetail.randperm(len(images))
            for start in range(0, len(images), BATCH):
                chosen = order[start : start + BATCH]
                loss = criterion(model(images[chosen]), labels[chosen])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            scheduler.step()
            tested = accuracy(model, test_images, test_labels)
            per_epoch = -(-len(images) // BATCH)
            mean = sum(losses[-per_epoch:]) / per_epoch
            progress.console.print(
                f"epoch {epoch:2}   loss {mean:.4f}   test accuracy {tested:6.2%}"
            )
            progress.advance(task)
    OUT.mkdir(exist_ok=True)
    written = write_loss_curve(losses, OUT / "digits_loss.svg")
    console.print(f"loss curve of {len(losses)} steps: {written}")
    return model, test_images, tested


def main() -> None:
    """Show the plugins, train, and explain one call."""
    dovetail.manual_seed(SEED)
    app(["plugins"], standalone_mode=False)
    begin = time.perf_counter()
    model, images, tested = train()
    console.print(f"trained in {time.perf_counter() - begin:.1f} s")

    first, activation, *_ = model
    console.rule("one call, explained")
    hidden = first(images[:2])
    explanation = dovetail.explain(dovetail.ops.activations.squareplus, hidden, activation.b)
    console.print(str(explanation), markup=False, soft_wrap=True)
    console.rule("its graph")
    loss = nn.CrossEntropyLoss()(model(images[:2]), dovetail.tensor([0, 1]))
    console.print(
        f"grad_fn of the loss: {loss.grad_fn.name()}, made by "
        f"{loss.grad_fn.next_functions[0][0].name()}"
    )
    console.rule()
    console.print(f"test accuracy: {tested:.2%}")
    if tested < 0.97:
        raise SystemExit(f"the test accuracy is {tested:.2%}; at least 97 % was expected")


if __name__ == "__main__":
    main()
