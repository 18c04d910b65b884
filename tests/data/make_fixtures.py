# SPDX-License-Identifier: Apache-2.0
#
# Makes the fixtures of this folder with Pillow: resize.bin holds, for each case,
# five little-endian int32 (channels, height, width, new height, new width),
# then the image and the resized image, bytes, channels first.
import os
import struct

import numpy
from PIL import Image

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
CASES = [(3, 32, 32, 56, 56), (3, 40, 30, 13, 17), (1, 9, 25, 25, 9), (3, 7, 5, 7, 11), (3, 5, 7, 3, 7),
         (1, 1, 1, 4, 3), (1, 30, 31, 1, 1), (3, 16, 16, 16, 16), (1, 50, 3, 2, 40)]

os.makedirs(FOLDER, exist_ok=True)
rng = numpy.random.RandomState(3)
with open(os.path.join(FOLDER, "resize.bin"), "wb") as out:
    for channels, h, w, new_h, new_w in CASES:
        image = rng.randint(0, 256, (channels, h, w)).astype(numpy.uint8)
        image[:, : h // 3] = numpy.where(image[:, : h // 3] > 127, 255, 0)
        planes = [Image.fromarray(p, "L").resize((new_w, new_h), Image.BILINEAR) for p in image]
        out.write(struct.pack("<5i", channels, h, w, new_h, new_w))
        out.write(image.tobytes())
        out.write(numpy.stack([numpy.asarray(p) for p in planes]).tobytes())

ARRAYS = {
    "f4": numpy.arange(6, dtype="<f4").reshape(2, 3) / 4,
    "fortran": numpy.asfortranarray(numpy.arange(24, dtype="<i8").reshape(2, 3, 4)),
    "big": numpy.arange(5, dtype=">i4") - 2,
    "bool": numpy.array([True, False, True]),
    "scalar": numpy.array(2.5),
    "empty": numpy.zeros((0, 3), "<f4"),
    "complex": numpy.zeros(2, "<c8"),
    "object": numpy.array([None, 1], dtype=object),
}
for array_name, array in ARRAYS.items():
    numpy.save(os.path.join(FOLDER, array_name + ".npy"), array, allow_pickle=True)
