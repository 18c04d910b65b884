# SPDX-License-Identifier: Apache-2.0
"""Writes the reference files of the nn tests with PyTorch.

The tests do not run this script; it is needed only to make the files again.
Each file in fixtures/ is a dict: "state", the state dict of a module; "x", an
input; "y", the output; "text", how PyTorch prints the module; where training
mode was used, "after", the state dict after that call.
"""

import pathlib

import torch
from torch import nn

FIXTURES = pathlib.Path(__file__).resolve().parent / "fixtures"


def spread(module):
    """Gives norm layers weights and statistics that are not 0 and 1."""
    for name, tensor in list(module.named_parameters()) + list(module.named_buffers()):
        if tensor.dtype.is_floating_point and tensor.dim() == 1:
            with torch.no_grad():
                low = 0.5 if "var" in name or "weight" in name else -0.5
                tensor.uniform_(low, low + 1)
    return module


def write(name, module, x, training=False):
    """Runs the module and saves what it is, took and gave."""
    module.train(training)
    before = {k: v.clone() for k, v in module.state_dict().items()}
    with torch.no_grad():
        y = module(x)
    record = {"state": before, "x": x, "y": y, "text": str(module)}
    if training:
        record["after"] = dict(module.state_dict())
    torch.save(record, FIXTURES / f"{name}.pt")


class Lm(nn.Module):
    """A table of words used twice: on the way in and on the way out."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.norm = nn.LayerNorm(6)
        self.head = nn.Linear(6, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, index):
        return self.head(self.norm(self.embedding(index)))


class Blocks(nn.Module):
    """Parameters, buffers and a list beside each other."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(3, 4)
        self.scale = nn.Parameter(torch.randn(4))
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.register_buffer("shift", torch.randn(4))
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))

    def forward(self, x):
        x = self.stem(x) * self.scale + self.shift
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)


def convnet():
    """Every kind of layer for images, with options of each kind."""
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.SiLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, (3, 2), stride=(2, 1), padding=(1, 0), groups=2, bias=False),
        nn.GELU(),
        nn.AvgPool2d(2, stride=1, padding=1, count_include_pad=False),
        nn.Conv2d(8, 4, 2, dilation=2),
        nn.Sigmoid(),
        nn.Flatten(),
        nn.Linear(8, 5),
        nn.Softmax(dim=1),
    )


def main():
    torch.manual_seed(20)
    FIXTURES.mkdir(exist_ok=True)
    write("convnet", spread(convnet()), torch.randn(2, 2, 8, 8))
    write("blocks", Blocks(), torch.randn(5, 3))
    write("tied", spread(Lm()), torch.tensor([[1, 10, 3], [0, 7, 7]]))
    images = torch.randn(3, 4, 5, 2) * 2 + 1
    write("batch_norm", spread(nn.BatchNorm2d(4)), images, training=True)
    average = nn.BatchNorm2d(4, momentum=None, affine=False)
    average(torch.randn(2, 4, 3, 3))
    write("batch_norm_average", average, images, training=True)
    write("batch_norm_batch", nn.BatchNorm2d(4, track_running_stats=False), images)
    write("layer_norm", spread(nn.LayerNorm([5, 2], eps=1e-3)), images)
    write("gelu_tanh", nn.GELU(approximate="tanh"), torch.linspace(-4, 4, 33))


if __name__ == "__main__":
    main()
