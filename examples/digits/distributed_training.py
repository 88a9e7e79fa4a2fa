"""Train a classifier of handwritten digits on all processes that ``mpiexec`` starts.

    mpiexec -n 2 python examples/digits/distributed_training.py --checkpoint out/digits

A run that is ended goes on at its last checkpoint, with as many processes or another number.
"""

from __future__ import annotations

import argparse
import os
import signal
from datetime import timedelta
from typing import Any

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import dovetail
import dovetail.distributed as dist
from dovetail import Tensor, nn
from dovetail.utils.data import DataLoader, DistributedSampler, TensorDataset

TOGETHER = 48
"""Samples of one step, on all processes together: divisible by 2, 3 and 4."""


def load() -> tuple[TensorDataset, Tensor, Tensor]:
    """Return the training set, test images (N, 64) in [-1, 1] and test labels."""
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images / 8 - 1, labels, test_size=0.2, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = map(dovetail.from_numpy, split)
    train = TensorDataset(train_images.float(), train_labels.long())
    return train, test_images.float(), test_labels.long()


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Return the part of `images` that is recognized, each process counting its share."""
    rank, size = dist.get_rank(), dist.get_world_size()
    with dovetail.no_grad():
        right = model(images[rank::size]).argmax(1) == labels[rank::size]
    counts = dovetail.tensor([right.sum().item(), len(right)])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def train(arguments: argparse.Namespace) -> tuple[nn.Module, float]:
    """Train from the checkpoint on, if there is one; return the model and its test accuracy."""
    rank, size = dist.get_rank(), dist.get_world_size()
    data, images, labels = load()
    dovetail.manual_seed(0)
    # Smooth: a ReLU of what is 0 but for rounding has a gradient in one run and none in another.
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10))
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = dovetail.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sampler = DistributedSampler(data, seed=1, drop_last=True)
    loader = DataLoader(data, TOGETHER // size, sampler=sampler, drop_last=True)

    state: dict[str, Any] | None = dist.load_checkpoint(arguments.checkpoint)
    if state is None:
        state = {"epoch": 0, "seen": 0}
    else:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        if rank == 0:
            print(f"{size} processes go on in epoch {state['epoch']} after {state['seen']} samples")
    tested, steps = 0.0, 0
    while state["epoch"] < arguments.epochs:
        sampler.set_epoch(state["epoch"], state["seen"])
        for x, y in loader:
            loss = nn.functional.cross_entropy(parallel(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state["seen"] += TOGETHER
            steps += 1
            if steps % 10 == 0:
                state |= {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                dist.save_checkpoint(state, arguments.checkpoint)
            if steps == arguments.kill_after and rank == size - 1:
                print(f"process {rank} is killed after {steps} steps", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
        state |= {"epoch": state["epoch"] + 1, "seen": 0}
        tested = accuracy(model, images, labels)
        if rank == 0:
            print(f"epoch {state['epoch']:2}   test accuracy {tested:6.2%}", flush=True)
    return model, tested


def main() -> None:
    """Train, and save the parameters for those who asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--kill-after", type=int, default=0, metavar="STEPS")
    parser.add_argument("--save", metavar="PATH")
    arguments = parser.parse_args()
    dist.init_process_group("mpi", timeout=timedelta(minutes=2))
    model, tested = train(arguments)
    if arguments.save:
        dist.save_checkpoint({"model": model.state_dict(), "accuracy": tested}, arguments.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
