"""Make a very small int8 model, which translates a few sentences from English to German, to try wheels with.

    python scripts/release/small_model.py FOLDER

Needs the extra `dev`. The wheel is then tried without it: scripts/release/check_wheel.py.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))


def main() -> None:
    from headwise.models.folder.load import convert, save_model
    from tests.taught import NATIVE, taught

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        save_model(Path(made) / "float", taught(shape=NATIVE))
        convert(Path(made) / "float", args.folder, "headwise", precision="int8")
    print(f"wrote {args.folder}")


if __name__ == "__main__":
    main()
