"""An LSTM that continues noisy waves of different lengths."""

import argparse
import math

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Forecaster(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.lstm = nn.LSTM(1, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, waves, lengths):
        packed = pack_padded_sequence(waves, lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(hidden)


def waves(count):
    made = []
    for length in torch.randint(20, 41, (count,)).tolist():
        phase, step = torch.rand(2).tolist()
        times = torch.arange(length + 1) * (0.2 + 0.2 * step) + 2 * math.pi * phase
        made.append(torch.sin(times) + 0.05 * torch.randn(length + 1))
    return made


def batch_of(made):
    lengths = torch.tensor([len(wave) - 1 for wave in made])
    given = pad_sequence([wave[:-1] for wave in made], batch_first=True)
    wanted = pad_sequence([wave[1:] for wave in made], batch_first=True)
    is_real = torch.arange(given.shape[1]) < lengths[:, None]
    return given.unsqueeze(-1), wanted.unsqueeze(-1), lengths, is_real.unsqueeze(-1)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    options = parser.parse_args(arguments)

    torch.manual_seed(0)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(1, options.steps + 1):
        given, wanted, lengths, is_real = batch_of(waves(16))
        loss = ((model(given, lengths) - wanted)[is_real] ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 20 == 0:
            print(f"step {step:4}   mean squared error {loss.item():.4f}")
    return losses


if __name__ == "__main__":
    main()
