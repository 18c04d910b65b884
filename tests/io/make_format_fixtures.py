#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes fixtures/formats/ with PyTorch: one file for each form, dtype, kind of
view and container, and expected.txt with what torch.load() gives for them. The
tests read what is committed there; this is needed only to make it again.

    python3 make_format_fixtures.py     (made with PyTorch 1.13.1)
"""

import collections
import io
import pathlib
import pickle
import struct
import tarfile
import warnings
import zipfile

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent / "fixtures" / "formats"
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.bfloat16, torch.float32, torch.float64]
names = []


def save(name, value, **options):
    torch.save(value, HERE / f"{name}.pt", **options)
    names.append(name)


def both(name, value):
    save(f"zip_{name}", value)
    save(f"old_{name}", value, _use_new_zipfile_serialization=False)


def word(dtype):
    return str(dtype).replace("torch.", "")


def bits(dtype, count):
    """Every pattern of bits, NaNs and denormals too."""
    size = torch.tensor([], dtype=dtype).element_size()
    state, data = 12345, bytearray()
    for _ in range(count * size):
        state = (state * 1103515245 + 12345) % 2**31
        data.append(state >> 16 & (1 if dtype == torch.bool else 255))
    return torch.frombuffer(data, dtype=dtype).clone()


def dtypes():
    for dtype in DTYPES:
        both(word(dtype), {"bits": bits(dtype, 70).view(7, 10), "scalar": bits(dtype, 1)[0],
                           "empty": torch.zeros(0, 3, dtype=dtype)})


def views():
    grid = bits(torch.float32, 120).view(2, 3, 4, 5)
    line = bits(torch.int16, 40)
    both("slices", [line, line[3:9], line[1::2], line[10:30:7], line[5:6]])
    both("transposed", {"base": grid, "t": grid.permute(3, 1, 0, 2), "m": grid[1, 0].t()})
    both("channels_last", {"w": grid.contiguous(memory_format=torch.channels_last)})
    both("expanded", {"e": grid[0, 0, 0].expand(3, 5), "s": torch.tensor(2.0).expand(4, 2)})
    both("diagonal", {"d": grid[0, 0, :, :4].diagonal(), "w": line.unfold(0, 8, 3)})
    both("strided", {"o": line.as_strided((4, 4), (2, 3), 5), "z": line.as_strided((3,), (0,), 7)})
    both("view_alone", {"tail": line[30:]})
    w = bits(torch.float64, 12).view(3, 4)
    both("tied", {"a": w, "b": w, "c": {"again": [w, w[0]]}})


def containers():
    both("nested", {"list": [1, [2, [3, torch.ones(1)]]], "tuple": (1,), "pair": (1, 2),
                    "dict": {"a": {"b": {"c": None}}}, 3: {-4: "int keys"},
                    "ordered": collections.OrderedDict([("z", 1), ("a", torch.zeros(2))]),
                    "size": torch.Size([4, 5]), "empty": [[], (), {}, ""]})
    both("numbers", [0, 1, -1, 255, 256, 65535, 65536, 2**31 - 1, -2**31, 2**31, 2**63 - 1,
                     -2**63, 0.5, -1e-5, 1e300, 3.0, float("inf"), True, False, None])
    both("texts", ["", "plain", "ünïcode ✓ 漢字 🚢", "new\nline", "x" * 300])
    both("odd_names", {"": torch.ones(1), "a.b.c": torch.ones(2), "with/slash": torch.ones(3),
                       "data.pkl": torch.ones(4), "漢字 ✓": torch.ones(5), "n" * 3000: torch.ones(6),
                       "new\nline": torch.ones(7), "module.x": torch.ones(8)})
    both("nothing", {})
    both("only_tensor", bits(torch.float32, 5))
    save("zip_many", {f"layer.{i}.weight": torch.full((3,), float(i)) for i in range(300)})
    save("zip_big", {"w": bits(torch.float32, 40000).view(200, 200)})
    save("old_big", {"w": bits(torch.float16, 80000).view(400, 200)},
         _use_new_zipfile_serialization=False)
    for protocol in 3, 4, 5:
        save(f"zip_protocol{protocol}", {"w": bits(torch.int32, 9), "n": "x", "p": (1, 2, 3, 4)},
             pickle_protocol=protocol)
    for protocol in 3, 4:
        save(f"old_protocol{protocol}", {"w": bits(torch.int32, 9), "n": "x", "p": (1, 2, 3, 4)},
             pickle_protocol=protocol, _use_new_zipfile_serialization=False)


def training():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    both("conv_net", model.state_dict())
    save("zip_lstm", nn.LSTM(3, 4, 2, bidirectional=True).state_dict())
    save("zip_transformer", nn.TransformerEncoderLayer(4, 2, 8).state_dict())
    save("zip_parameters", {"p": nn.Parameter(torch.ones(2)), "list": list(model.parameters())})
    optimizers = {"sgd": torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
                  "adam": torch.optim.Adam(model.parameters(), lr=0.01, amsgrad=True),
                  "adamw": torch.optim.AdamW(model.parameters(), lr=0.01),
                  "rmsprop": torch.optim.RMSprop(model.parameters(), lr=0.01, centered=True),
                  "adagrad": torch.optim.Adagrad(model.parameters(), lr=0.01)}
    for name, optimizer in optimizers.items():
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)
        for _ in range(2):
            model.zero_grad()
            model(torch.ones(3, 1, 4, 4)).sum().backward()
            optimizer.step()
            schedule.step()
        save(f"zip_{name}", {"optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()})
    save("old_sgd", {"model": model.state_dict(), "optimizer": optimizers["sgd"].state_dict()},
         _use_new_zipfile_serialization=False)


def rewritten(name, source, how):
    """The records of another file, in another kind of zip archive."""
    with zipfile.ZipFile(HERE / f"{source}.pt") as old, \
            zipfile.ZipFile(HERE / f"{name}.pt", "w") as new:
        for info in old.infolist():
            how(new, info.filename, old.read(info))
    names.append(name)


def zips():
    def zip64(archive, name, data):
        with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as out:
            out.write(data)

    def deflated(archive, name, data):
        archive.writestr(name, data, zipfile.ZIP_DEFLATED)

    rewritten("zip64", "zip_transposed", zip64)
    rewritten("zip_deflated", "zip_nested", deflated)
    with zipfile.ZipFile(HERE / "zip64.pt", "a") as archive:
        archive.comment = b"a comment at the end"


class TarPickler(pickle.Pickler):
    def __init__(self, out, tensors):
        super().__init__(out, protocol=2)
        self.tensors = tensors

    def persistent_id(self, value):
        if isinstance(value, torch.Tensor):
            self.tensors.setdefault(id(value), value)
            return str(id(value))
        return None


def save_tar(name, value, parts_of_storages=False):
    """As PyTorch 0.1 wrote it; newer ones only read this form."""
    tensors, pickled = {}, io.BytesIO()
    TarPickler(pickled, tensors).dump(value)
    storages, roots = io.BytesIO(), {}
    for tensor in tensors.values():
        roots.setdefault(tensor.storage().data_ptr(), tensor.storage())
    pickle.dump(len(roots), storages, 2)
    for key, storage in enumerate(roots.values()):
        pickle.dump((key + 1, "cpu", getattr(torch, storage.pickle_storage_type())), storages, 2)
        array = torch.tensor(storage, dtype=storage.dtype).numpy()
        storages.write(struct.pack("<q", len(array)) + array.tobytes())
    # A tensor lies in a storage or, as slices of storages were written, in a part.
    parts, places = [], {}
    for i, tensor in enumerate(tensors.values()):
        root = list(roots).index(tensor.storage().data_ptr()) + 1
        places[id(tensor)] = (root, tensor.storage_offset())
        if parts_of_storages:
            parts.append((1000 + i, root, tensor.storage_offset(),
                          tensor.storage().size() - tensor.storage_offset()))
            places[id(tensor)] = (1000 + i, 0)
    pickle.dump(parts, storages, 2)
    out = io.BytesIO()
    pickle.dump(len(tensors), out, 2)
    for key, tensor in tensors.items():
        kind = getattr(torch, tensor.type().replace("torch.", ""))
        place, offset = places[key]
        pickle.dump((key, place, kind), out, 2)
        out.write(struct.pack(f"<ii{2 * tensor.dim()}qq", tensor.dim(), 0, *tensor.shape,
                              *tensor.stride(), offset))
    with tarfile.open(HERE / f"{name}.pt", "w:", format=tarfile.PAX_FORMAT) as tar:
        for member, data in [("sys_info", pickle.dumps({}, 2)), ("pickle", pickled.getvalue()),
                             ("tensors", out.getvalue()), ("storages", storages.getvalue())]:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def tars():
    line = torch.arange(10.0)
    names.extend(["tar_plain", "tar_views", "tar_training"])
    save_tar("tar_plain", {"w": torch.arange(6.0).view(2, 3), "n": torch.tensor([7, -1])})
    save_tar("tar_views", [line[2:8], line[1::3], line.view(2, 5).t(), torch.tensor(2.5)])
    # PyTorch makes storages of their own of the parts, which share memory.
    save_tar("tar_parts", [line[2:8], line[1::3]], parts_of_storages=True)
    save_tar("tar_training", {"state": collections.OrderedDict(a=torch.ones(2)), "epoch": 3,
                              "half": torch.ones(2, dtype=torch.float16), "note": "x"})


def fingerprint(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def raw(tensor):
    flat = tensor.detach().contiguous().view(-1)
    if flat.numel() == 0:
        return b""
    wide = {torch.bfloat16: torch.int16}.get(flat.dtype)
    return (flat.view(wide) if wide else flat).numpy().tobytes()


def describe(value, path, groups, lines):
    if isinstance(value, torch.Tensor):
        storage = groups.setdefault(value.storage().data_ptr(), len(groups)) \
            if value.numel() else -1
        strides = list(value.stride()) if value.numel() else "-"
        lines.append(f"{path}\ttensor\t{word(value.dtype)}\t{list(value.shape)}\t{strides}"
                     f"\t{value.storage_offset() if value.numel() else 0}\t{storage}"
                     f"\t{fingerprint(raw(value)):016x}")
    elif isinstance(value, dict):
        lines.append(f"{path}\tdict\t{len(value)}")
        for i, (key, entry) in enumerate(value.items()):
            lines.append(f"{path}/{i}\tkey\t{escape(repr(key) if isinstance(key, int) else key)}")
            describe(entry, f"{path}/{i}", groups, lines)
    elif isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        lines.append(f"{path}\t{kind}\t{len(value)}")
        for i, entry in enumerate(value):
            describe(entry, f"{path}/{i}", groups, lines)
    elif isinstance(value, str):
        lines.append(f"{path}\tstring\t{escape(value)}")
    else:
        lines.append(f"{path}\tvalue\t{value!r}")


def escape(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    HERE.mkdir(exist_ok=True, parents=True)
    dtypes()
    views()
    containers()
    training()
    zips()
    tars()
    lines = []
    for name in names:
        lines.append(f"file {name}")
        describe(torch.load(HERE / f"{name}.pt"), "", {}, lines)
    (HERE / "expected.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(len(names), "files")
