# SPDX-License-Identifier: Apache-2.0
"""Trains the digits network with PyTorch and writes the demo's asset files.

The demo does not run this script; it is needed only to make the files again.
Everything is written next to the script:

    digits.pt                the trained model's state dict
    test-images.idx3-ubyte   the 597 test images, pixel values 0..16
    test-labels.idx1-ubyte   their labels
    expected.pt              PyTorch's logits and accuracy on those images
    expected.json            the same facts without the logits
"""

import json
import pathlib
import platform
import struct

import numpy as np
import sklearn
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
SEED = 1998
TEST_IMAGES = 597
PIXEL_MAX = 16.0
EPOCHS = 60
BATCH = 64


class Digits(nn.Module):
    """A small convolutional classifier for [N, 1, 8, 8] images."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(64 * 2 * 2, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def load():
    """Returns train and test images (uint8, 0..16) and labels (uint8)."""
    images, labels = load_digits(return_X_y=True)
    assert images.min() == 0 and images.max() == 16
    assert np.array_equal(images, np.round(images))
    images = images.reshape(-1, 8, 8).astype(np.uint8)
    labels = labels.astype(np.uint8)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=TEST_IMAGES, random_state=SEED, stratify=labels
    )
    return train_x, train_y, test_x, test_y


def normalise(images):
    """Turns uint8 [N, 8, 8] into float32 [N, 1, 8, 8] in 0..1."""
    return torch.from_numpy(images.astype(np.float32)).unsqueeze(1) / PIXEL_MAX


def augment(x, generator):
    """Rotates, scales and shifts each image a little, differently for each."""

    def uniform(limit):
        return (torch.rand(len(x), generator=generator) * 2 - 1) * limit

    angle = uniform(0.15)
    scale = 1 + uniform(0.08)
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    # The grid spans -1..1 over 8 pixels, so 0.125 is half a pixel.
    theta = torch.stack(
        [
            torch.stack([cos, -sin, uniform(0.125)], dim=1),
            torch.stack([sin, cos, uniform(0.125)], dim=1),
        ],
        dim=1,
    )
    grid = F.affine_grid(theta, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, align_corners=False)


def train(images, labels):
    """Trains on the training images alone for a fixed number of epochs."""
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    x = normalise(images)
    y = torch.from_numpy(labels.astype(np.int64))
    model = Digits()
    steps = EPOCHS * ((len(x) + BATCH - 1) // BATCH)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps)
    model.train()
    for epoch in range(EPOCHS):
        total = 0.0
        order = torch.randperm(len(x), generator=generator)
        for batch in order.split(BATCH):
            logits = model(augment(x[batch], generator))
            loss = F.cross_entropy(logits, y[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(batch)
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1:3d}  training loss {total / len(x):.4f}")
    return model.eval()


def write_idx(path, array):
    """Writes a uint8 array as an IDX file: big-endian header, then the bytes."""
    header = struct.pack(">HBB", 0, 0x08, array.ndim)
    header += struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(header + np.ascontiguousarray(array).tobytes())


def read_idx(path):
    """Reads a uint8 IDX file back."""
    data = path.read_bytes()
    zero, kind, rank = struct.unpack_from(">HBB", data)
    assert zero == 0 and kind == 0x08
    shape = struct.unpack_from(f">{rank}I", data, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def evaluate(model, images, labels):
    """Returns the logits in evaluation mode and how many images are right."""
    with torch.no_grad():
        logits = model.eval()(normalise(images))
    correct = int((logits.argmax(1).numpy() == labels).sum())
    return logits, correct


def main():
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)

    train_x, train_y, test_x, test_y = load()
    model = train(train_x, train_y)
    logits, correct = evaluate(model, test_x, test_y)
    accuracy = correct / len(test_y)

    torch.save(model.state_dict(), HERE / "digits.pt")
    write_idx(HERE / "test-images.idx3-ubyte", test_x)
    write_idx(HERE / "test-labels.idx1-ubyte", test_y)
    torch.save(
        {
            "logits": logits,
            "accuracy": accuracy,
            "correct": correct,
            "torch": str(torch.__version__),
            "images": len(test_y),
        },
        HERE / "expected.pt",
    )
    facts = {
        "accuracy": accuracy,
        "correct": correct,
        "images": len(test_y),
        "torch": str(torch.__version__),
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    (HERE / "expected.json").write_text(json.dumps(facts, indent=2) + "\n")

    # The files alone must give what was recorded.
    images = read_idx(HERE / "test-images.idx3-ubyte")
    labels = read_idx(HERE / "test-labels.idx1-ubyte")
    again = Digits()
    again.load_state_dict(torch.load(HERE / "digits.pt"))
    saved = torch.load(HERE / "expected.pt")
    logits, correct = evaluate(again, images, labels)
    assert images.shape == (TEST_IMAGES, 8, 8) and labels.shape == (TEST_IMAGES,)
    assert correct == saved["correct"] and torch.equal(logits, saved["logits"])
    print(f"{correct} of {len(labels)} test images right ({accuracy:.4%})")


if __name__ == "__main__":
    main()
