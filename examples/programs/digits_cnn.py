"""A convolutional network on scans of handwritten digits (8×8 pixels, from scikit-learn)."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.25)
        self.out = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.out(self.dropout(x.flatten(1)))


def load():
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images / 16, labels, test_size=0.2, stratify=labels, random_state=0)
    train_x, test_x, train_y, test_y = map(torch.from_numpy, split)
    shape = (-1, 1, 8, 8)
    train = TensorDataset(train_x.float().view(shape), train_y.long())
    return train, TensorDataset(test_x.float().view(shape), test_y.long())


def train_epoch(model, loader, optimizer, scheduler):
    model.train()
    losses = []
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def accuracy(model, dataset):
    model.eval()
    images, labels = dataset.tensors
    return (model(images).argmax(1) == labels).float().mean().item()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--save", default=None, help="write the trained parameters here")
    options = parser.parse_args(arguments)

    torch.manual_seed(0)
    train, test = load()
    model = Net()
    loader = DataLoader(train, batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    steps = options.epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    losses = []
    for epoch in range(1, options.epochs + 1):
        losses += train_epoch(model, loader, optimizer, scheduler)
        tested = accuracy(model, test)
        print(f"epoch {epoch:2}   loss {losses[-1]:.4f}   test accuracy {tested:.2%}")
    if options.save:
        torch.save(model.state_dict(), options.save)
    return losses, tested


if __name__ == "__main__":
    main()
