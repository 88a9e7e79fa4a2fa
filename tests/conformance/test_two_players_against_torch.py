"""Programs in which one network trains another have PyTorch's losses: a DCGAN, and Q-learning."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import pytest
from steps import held

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

STEPS = 20


# -- a DCGAN ---------------------------------------------------------------------------------------


def generator(nn: Any) -> Any:
    return nn.Sequential(
        nn.ConvTranspose2d(8, 8, 4, 1, 0, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(True),
        nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(True),
        nn.ConvTranspose2d(4, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    )


def discriminator(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(4, 8, 4, 2, 1, bias=False),
        nn.BatchNorm2d(8),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 1, 4, 1, 0, bias=False),
        nn.Sigmoid(),
    )


def weights_init(nn: Any, module: Any) -> None:
    classname = module.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(module.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(module.weight.data, 1.0, 0.02)
        nn.init.constant_(module.bias.data, 0)


def dcgan(lib: Any) -> list[float]:
    """Train both networks on rings, and return the losses of both at each step."""
    nn = lib.nn
    lib.manual_seed(0)
    with lib.device("cpu"):  # whose random numbers are PyTorch's
        net_g, net_d = generator(nn), discriminator(nn)
        for net in (net_g, net_d):
            net.apply(lambda module: weights_init(nn, module))
    net_g.to(lib.get_default_device())
    net_d.to(lib.get_default_device())
    criterion = nn.BCELoss()
    optimizer_d = lib.optim.Adam(net_d.parameters(), lr=0.0002, betas=(0.5, 0.999))
    optimizer_g = lib.optim.Adam(net_g.parameters(), lr=0.0002, betas=(0.5, 0.999))
    y, x = np.mgrid[-1:1:16j, -1:1:16j]
    found = []
    for step in range(STEPS):
        radii = 0.3 + 0.05 * ((step + np.arange(6)) % 7)
        rings = np.exp(-(((x**2 + y**2) ** 0.5 - radii[:, None, None]) ** 2) * 20) * 2 - 1
        real = lib.tensor(rings[:, None].astype(np.float32))
        net_d.zero_grad()
        label = lib.full((6,), 1.0, dtype=lib.float)
        loss_real = criterion(net_d(real).view(-1), label)
        loss_real.backward()
        fake = net_g(lib.randn(6, 8, 1, 1, device="cpu").to(label.device))
        label.fill_(0.0)
        loss_fake = criterion(net_d(fake.detach()).view(-1), label)
        loss_fake.backward()
        optimizer_d.step()
        net_g.zero_grad()
        label.fill_(1.0)
        loss_g = criterion(net_d(fake).view(-1), label)
        loss_g.backward()
        optimizer_g.step()
        if lib is dovetail:
            held(net_d, net_g, optimizer_d, optimizer_g, loss_real, loss_fake, loss_g)
        found += [loss_real.item() + loss_fake.item(), loss_g.item()]
    return found


def test_the_losses_of_a_dcgan_are_pytorchs() -> None:
    expected = dcgan(torch)
    assert expected[-2] < expected[0]  # the discriminator learns to tell rings from noise
    np.testing.assert_allclose(dcgan(dovetail), expected, rtol=2e-4, atol=2e-5)


# -- Q-learning ------------------------------------------------------------------------------------


class Corridor:
    """A walk along six places, of which the last is the goal; each step costs a little."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def reset(self) -> list[float]:
        self.place, self.steps = self.rng.randrange(3), 0
        return self.observed()

    def observed(self) -> list[float]:
        return [self.place / 5, (self.place / 5) ** 2, self.steps / 20]

    def step(self, action: int) -> tuple[list[float], float, bool]:
        self.place = max(0, self.place + (1 if action else -1))
        self.steps += 1
        at_goal = self.place == 5
        return self.observed(), 1.0 if at_goal else -0.05, at_goal or self.steps == 20


def dqn(lib: Any) -> tuple[list[float], list[float]]:
    """Train on what is played, and return the losses of the steps and the last Q-values."""
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    rng = random.Random(0)

    class DQN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer1, self.layer2 = nn.Linear(3, 24), nn.Linear(24, 24)
            self.layer3 = nn.Linear(24, 2)

        def forward(self, x: Any) -> Any:
            return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))

    with lib.device("cpu"):  # whose random numbers are PyTorch's
        policy_net, target_net = DQN(), DQN()
    policy_net.to(lib.get_default_device())
    target_net.to(lib.get_default_device())
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = lib.optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    memory: deque[Any] = deque(maxlen=500)
    environment, found = Corridor(rng), []
    state = lib.tensor(environment.reset()).unsqueeze(0)
    while len(found) < 3 * STEPS:
        if rng.random() > 0.5:
            with lib.no_grad():
                action = policy_net(state).max(1).indices.view(1, 1)
        else:
            action = lib.tensor([[rng.randrange(2)]], dtype=lib.long)
        observed, reward, done = environment.step(action.item())
        following = None if done else lib.tensor(observed, dtype=lib.float32).unsqueeze(0)
        memory.append((state, action, following, lib.tensor([reward])))
        state = lib.tensor(environment.reset()).unsqueeze(0) if done else following
        if len(memory) < 16:
            continue
        states, actions, next_states, rewards = zip(*rng.sample(memory, 16), strict=True)
        mask = lib.tensor(tuple(each is not None for each in next_states), dtype=lib.bool)
        values = policy_net(lib.cat(states)).gather(1, lib.cat(actions))
        next_values = lib.zeros(16)
        with lib.no_grad():
            others = lib.cat([each for each in next_states if each is not None])
            next_values[mask] = target_net(others).max(1).values
        wanted = (next_values * 0.9) + lib.cat(rewards)
        loss = nn.SmoothL1Loss()(values, wanted.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        target, policy = target_net.state_dict(), policy_net.state_dict()
        for key in policy:
            target[key] = policy[key] * 0.05 + target[key] * 0.95
        target_net.load_state_dict(target)
        if lib is dovetail:
            held(policy_net, target_net, optimizer, loss)
        found.append(loss.item())
    with lib.no_grad():
        places = lib.tensor([[p / 5, (p / 5) ** 2, 0.0] for p in range(5)])
        return found, policy_net(places).flatten().tolist()


def test_the_losses_and_q_values_of_q_learning_are_pytorchs() -> None:
    expected, expected_values = dqn(torch)
    losses, values = dqn(dovetail)
    np.testing.assert_allclose(losses, expected, rtol=2e-3, atol=2e-5)
    np.testing.assert_allclose(values, expected_values, rtol=2e-3, atol=2e-4)
    toward, back = np.reshape(values, (5, 2))[-1][::-1]
    assert toward > back  # next to the goal it has learnt where to go
