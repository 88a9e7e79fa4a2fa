"""Models that begin with the same weights have the same losses in both libraries, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from steps import held
from torch_twins import twin

import dovetail

STEPS = 20

MODELS: dict[str, Callable[[Any], Any]] = {}


def model(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Note a function that returns the class of a model for a library."""
    MODELS[make.__name__] = make
    return make


def waves(lib: Any, *shape: int, speed: float = 0.7) -> Any:
    """Return numbers that look drawn, the same in both libraries."""
    count = math.prod(shape)
    values = np.sin(np.arange(count) * speed) + 0.3 * np.cos(np.arange(count) ** 2 * 0.01)
    return lib.tensor(values.astype("float32").reshape(shape).tolist())


def classes(lib: Any, *shape: int, count: int) -> Any:
    """Return class indices, the same in both libraries."""
    places = np.arange(math.prod(shape))
    return lib.tensor(((places * 7 + places**2 // 3) % count).reshape(shape).tolist())


def recurrent(lib: Any, kind: str) -> Any:
    nn = lib.nn

    class Sequences(nn.Module):
        """Says after each step which of three classes comes next."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(3, 6)
            self.network = getattr(nn, kind)(6, 8, batch_first=True, bidirectional=True)
            self.head = nn.Linear(16, 3)

        def loss(self) -> Any:
            symbols = classes(lib, 3, 5, count=3)
            lengths = lib.tensor([5, 4, 2], device="cpu")
            x = self.embedding(symbols)
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
            output, _ = self.network(packed)
            padded, _ = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
            return nn.functional.cross_entropy(
                self.head(padded).transpose(1, 2), symbols.roll(1, 1)
            )

    return Sequences


@model
def lstm(lib: Any) -> Any:
    return recurrent(lib, "LSTM")


@model
def gru(lib: Any) -> Any:
    return recurrent(lib, "GRU")


@model
def transformer_encoder(lib: Any) -> Any:
    nn = lib.nn

    class Encoder(nn.Module):
        """Classifies sequences of which parts are padding."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(11, 16)
            layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(16, 4)

        def loss(self) -> Any:
            words = classes(lib, 5, 7, count=11)
            padding = lib.arange(7) >= lib.tensor([7, 6, 5, 4, 3]).unsqueeze(1)
            x = self.encoder(self.embedding(words), src_key_padding_mask=padding)
            kept = x.masked_fill(padding.unsqueeze(2), 0.0).mean(1)
            return nn.CrossEntropyLoss()(self.head(kept), classes(lib, 5, count=4))

    return Encoder


@model
def transformer(lib: Any) -> Any:
    nn = lib.nn

    class Translator(nn.Module):
        """Maps sequences to sequences, with an encoder and a decoder."""

        def __init__(self) -> None:
            super().__init__()
            self.transformer = nn.Transformer(
                8, 2, 1, 1, 16, dropout=0.0, activation="gelu", norm_first=True, batch_first=True
            )
            self.head = nn.Linear(8, 5)

        def loss(self) -> Any:
            source, target = waves(lib, 3, 6, 8), waves(lib, 3, 4, 8, speed=0.3)
            mask = nn.Transformer.generate_square_subsequent_mask(4)
            found = self.transformer(source, target, tgt_mask=mask, tgt_is_causal=True)
            logits = self.head(found)
            return nn.functional.cross_entropy(logits.flatten(0, 1), classes(lib, 12, count=5))

    return Translator


@model
def gpt(lib: Any) -> Any:
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(16), nn.LayerNorm(16)
            self.qkv = nn.Linear(16, 48, bias=False)
            self.out = nn.Linear(16, 16)
            self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

        def forward(self, x: Any) -> Any:
            n, t, c = x.shape
            q, k, v = self.qkv(self.ln1(x)).split(c, dim=2)
            q, k, v = (y.view(n, t, 4, c // 4).transpose(1, 2) for y in (q, k, v))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(n, t, c))
            return x + self.mlp(self.ln2(x))

    class Gpt(nn.Module):
        """Says which symbol comes next; embedding and head share their weight."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(13, 16), nn.Embedding(8, 16)
            self.blocks = nn.ModuleList([Block() for _ in range(2)])
            self.norm = nn.LayerNorm(16)
            self.head = nn.Linear(16, 13, bias=False)
            self.head.weight = self.tokens.weight

        def loss(self) -> Any:
            tokens = classes(lib, 3, 9, count=13)
            x = self.tokens(tokens[:, :-1]) * 0.3 + self.places(lib.arange(8)) * 0.3
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x)) * 0.3
            return functional.cross_entropy(logits.view(-1, 13), tokens[:, 1:].reshape(-1))

    return Gpt


@model
def vae(lib: Any) -> Any:
    nn, functional = lib.nn, lib.nn.functional

    class Vae(nn.Module):
        """Reconstructs through a few drawn numbers, which here are given."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(12, 16), nn.Tanh())
            self.mean, self.spread = nn.Linear(16, 3), nn.Linear(16, 3)
            self.decoder = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.1), nn.Linear(16, 12))

        def loss(self) -> Any:
            x = waves(lib, 6, 12).sigmoid()
            hidden = self.encoder(x)
            mean, spread = self.mean(hidden), self.spread(hidden)
            z = mean + waves(lib, 6, 3, speed=1.9) * (0.5 * spread).exp()
            again = functional.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="sum")
            divergence = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum()
            return (again + divergence) / x.shape[0]

    return Vae


@model
def resnet(lib: Any) -> Any:
    nn, functional = lib.nn, lib.nn.functional

    class Residual(nn.Module):
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(outer)
            self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(outer)
            self.short = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride=stride, bias=False), nn.BatchNorm2d(outer)
            )

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.bn1(self.conv1(x)))
            return functional.relu(self.bn2(self.conv2(y)) + self.short(x))

    class ResNet(nn.Module):
        """Classifies images by residual blocks with batch normalisation."""

        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.Sequential(Residual(3, 6, 1), Residual(6, 8, 2))
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.head = nn.Linear(8, 5)

        def loss(self) -> Any:
            x = self.pool(self.blocks(waves(lib, 4, 3, 8, 8))).flatten(1)
            return functional.cross_entropy(
                self.head(x), classes(lib, 4, count=5), label_smoothing=0.1
            )

    return ResNet


@model
def cnn(lib: Any) -> Any:
    nn = lib.nn

    class Cnn(nn.Module):
        """Classifies images by convolutions, pooling and linear maps."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(
                *[nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 2), nn.SiLU()],
                *[nn.Flatten(), nn.Linear(24, 10), nn.LogSoftmax(dim=1)],
            )

        def loss(self) -> Any:
            return nn.NLLLoss()(self.layers(waves(lib, 5, 1, 8, 8)), classes(lib, 5, count=10))

    return Cnn


def losses(lib: Any, trained: Any) -> list[float]:
    """Train, and return the losses of all steps, then that of evaluation."""
    optimizer = lib.optim.SGD(trained.parameters(), lr=0.05, momentum=0.9)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = trained.loss()
        loss.backward()
        optimizer.step()
        if lib is dovetail:
            held(trained, optimizer, loss)
        found.append(loss.item())
    trained.eval()
    with lib.no_grad():
        found.append(trained.loss().item())
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_losses_of_a_model_are_pytorchs(name: str) -> None:
    torch.manual_seed(0)
    theirs, ours = (MODELS[name](lib)() for lib in (torch, dovetail))
    ours.load_state_dict(twin(theirs.state_dict()))
    expected = losses(torch, theirs)
    assert expected[-2] < expected[0]  # it learns something
    np.testing.assert_allclose(losses(dovetail, ours), expected, rtol=2e-4, atol=2e-5)
    for (name_, tensor), other in zip(
        ours.state_dict().items(), theirs.state_dict().values(), strict=True
    ):
        np.testing.assert_allclose(
            tensor.cpu().numpy(), other.cpu().numpy(), rtol=2e-3, atol=2e-4, err_msg=name_
        )
