#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes fixtures/ with PyTorch. The tests read what is committed there; this
is needed only to make the files again.

    python3 make_fixtures.py     (made with PyTorch 1.13.1)
"""

import argparse
import collections
import io
import os
import pathlib
import pickle
import warnings
import zipfile

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent / "fixtures"


def save(name, value, **options):
    torch.save(value, HERE / name, **options)


def plain():
    return {
        "weight": torch.arange(6, dtype=torch.float32).view(2, 3) / 4,
        "count": torch.tensor([7, -1], dtype=torch.int64),
    }


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


def ordinary():
    """What people save."""
    save("plain.pt", plain())
    save("plain_protocol4.pt", plain(), pickle_protocol=4)
    save("module.pt", network().state_dict())
    save("parameter.pt", {"w": nn.Parameter(torch.tensor([1.5, -2.0])), "frozen": nn.Parameter(
        torch.ones(1), requires_grad=False)})

    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.125)
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    save("training.pt", {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": 3,
        "note": "x",
        "nothing": None,
        "tuple": (1, 2.5, True, -(2**40)),
        "shape": torch.Size([2, 3]),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
        "milestones": collections.Counter([10, 20]),
    })

    values = [0, 1, 2]
    dtypes = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
              torch.float16, torch.bfloat16, torch.float32, torch.float64]
    tensors = {str(d).replace("torch.", ""): torch.tensor(values).to(d) for d in dtypes}
    save("dtypes.pt", {**tensors, "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3)})

    tagged = torch.tensor([1.0, 2.0])
    tagged.remark = "an attribute"
    save("attribute.pt", {"w": tagged})


def sharing():
    n = torch.arange(1, 10)
    save("views.pt", [n, n[1::2]])
    save("transposed.pt", {"t": torch.arange(6, dtype=torch.float32).view(2, 3).t()})
    w = torch.ones(2, 2)
    save("tied.pt", {"embedding": w, "head": w, "row": w[1]})


def refused():
    save("complex.pt", {"z": torch.zeros(2, dtype=torch.complex64)})
    save("quantised.pt", {"q": torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8)})
    save("sparse.pt", {"s": torch.eye(2).to_sparse()})
    save("before_1_6.pt", plain(), _use_new_zipfile_serialization=False)
    torch.jit.script(nn.Linear(2, 2)).save(str(HERE / "torchscript.pt"))
    save("whole_module.pt", nn.Linear(2, 2))


class Call:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class Stranger:
    pass


def evil():
    save("evil_system.pt", {"w": Call(os.system, "touch evil_was_here")})
    save("evil_getattr.pt", {"w": Call(getattr, "text", "upper")})
    save("evil_options.pt", {"model": plain(), "args": argparse.Namespace(lr=0.5)})
    state = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5).state_dict()
    state["state"][0] = Stranger()
    save("evil_optimizer.pt", {"optimizer": state})


class Tagger(pickle.Pickler):
    """Writes storages as if they had been on other devices."""

    def __init__(self, out, tags):
        super().__init__(out, protocol=2)
        self.tags, self.storages = tags, []

    def persistent_id(self, value):
        if not isinstance(value, torch.storage.TypedStorage):
            return None
        pointers = [s.data_ptr() for s in self.storages]
        if value.data_ptr() not in pointers:
            self.storages.append(value)
            pointers.append(value.data_ptr())
        key = pointers.index(value.data_ptr())
        kind = getattr(torch, value.pickle_storage_type())
        return "storage", kind, str(key), self.tags[key], value.size()


def archive(name, value, tags, big_endian=False, byteorder=None, method=zipfile.ZIP_STORED):
    pickled = io.BytesIO()
    tagger = Tagger(pickled, tags)
    tagger.dump(value)
    with zipfile.ZipFile(HERE / name, "w", method) as out:
        def write(record, data):
            info = zipfile.ZipInfo(f"archive/{record}")
            info.compress_type = method
            out.writestr(info, data)

        write("data.pkl", pickled.getvalue())
        if byteorder:
            write("byteorder", byteorder)
        for key, storage in enumerate(tagger.storages):
            array = torch.tensor(storage, dtype=storage.dtype).numpy()
            write(f"data/{key}", (array.byteswap() if big_endian else array).tobytes())
        write("version", b"3\n")


def made_by_hand():
    where = {"on_cpu": torch.tensor([1.0, 2.0]), "on_0": torch.tensor([3.0, 4.0]),
             "on_3": torch.arange(4)}
    where["view_of_0"] = where["on_0"][1:]
    where["optimizer"] = {"state": {0: {"momentum": torch.tensor([5.0])}}}
    archive("tags.pt", where, ["cpu", "cuda:0", "cuda:3", "cuda:0"])
    archive("acme_tags.pt", where, ["cpu", "acme:0", "acme:1", "acme:0"])
    archive("deflated.pt", {"w": torch.arange(1000)}, ["cpu"], method=zipfile.ZIP_DEFLATED)
    numbers = {"w": torch.tensor([1.5, -2.0]), "n": torch.tensor([258], dtype=torch.int16)}
    archive("big_endian.pt", numbers, ["cpu"] * 2, big_endian=True, byteorder=b"big")
    archive("little_endian.pt", numbers, ["cpu"] * 2, byteorder=b"little")
    archive("middle_endian.pt", numbers, ["cpu"] * 2, byteorder=b"middle")
    with zipfile.ZipFile(HERE / "no_pickle.zip", "w") as out:
        out.writestr("readme.txt", "hello")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    HERE.mkdir(exist_ok=True)
    ordinary()
    sharing()
    refused()
    evil()
    made_by_hand()
