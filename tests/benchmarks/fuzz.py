"""Broken files through every reader, as they would be uploaded: no crash, no hang.

Each seed takes a file (recorded or made by the project, or a real one of a folder given as
argument), cuts it, flips bytes, repeats or drops pieces, zips it half of the time, and lets the
service's reader look at it, with and without a format. Anything but a graph or faults ends the
script.
"""

import gzip
import random
import sys
import time
from collections import Counter
from pathlib import Path

from app.reading.traces import read_files, recognised
from solver.errors import InterlaceError
from solver.traces import READERS, TraceOptions
from tests.horovod_events import old, steps, text

COUNT = 10_000
#: Longer files are cut first: time goes into breaking, not into reading [bytes].
LONGEST = 200_000
#: An input that takes longer counts as a hang [s].
HANG = 10.0
DATA = Path(__file__).parents[1] / "data"
#: Files that the project could not record: Horovod's, of today and of 0.19.
MADE = (text(steps(3)), old(steps(2)))
#: Files that are read together: one is broken, the other whole.
PAIR = ("jax_profile.json.gz", "jax_hlo.txt.gz")


def sources(folder: Path | None) -> list[bytes]:
    """Return whole files, unpacked."""
    paths = [path for path in sorted(DATA.iterdir()) if path.suffix != ".py"]
    if folder is not None:
        paths += [path for path in sorted(folder.rglob("*")) if path.is_file()]
    found = list(MADE)
    for path in paths:
        content = path.read_bytes()
        found.append(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    return found


def mangled(content: bytes, draw: random.Random) -> bytes:
    """Break a file in one way, or a few."""
    start = draw.randrange(max(1, len(content) - LONGEST + 1)) if draw.random() < 0.1 else 0
    broken = bytearray(content[start : start + LONGEST])
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        at = draw.randrange(len(broken) + 1)
        size = draw.choice([1, 2, 8, 100, 5_000])
        match draw.randrange(9):
            case 0:
                del broken[at:]
            case 1:
                del broken[at : at + size]
            case 2:
                broken[at:at] = broken[at : at + size] * draw.randrange(1, 4)
            case 3:
                broken[at : at + size] = draw.randbytes(min(size, 64))
            case _:
                words = [b"NaN", b"1e999", b"-1", b'""', b"{}", b"[", b"]", b"null", b"9" * 400]
                words += [b"9" * 5_000, b"9," * 1_000, b"'a'=9," * 1_000]
                broken[at:at] = draw.choice(words)
    whole = bytes(broken)
    if draw.random() < 0.5:
        return whole
    zipped = gzip.compress(whole, 1)
    return zipped[: draw.randrange(len(zipped) + 1)] if draw.random() < 0.3 else zipped


def main() -> None:
    """Run, and print how inputs ended by code, and the slowest."""
    files = sources(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    pair = [gzip.decompress((DATA / name).read_bytes()) for name in PAIR]
    ends: Counter[str] = Counter()
    slowest = 0.0
    for seed in range(COUNT):
        draw = random.Random(seed)
        chosen = draw.choice(files)
        content = [mangled(chosen, draw)]
        if chosen in pair:
            content = [mangled(chosen, draw), pair[chosen == pair[0]]]
        elif draw.random() < 0.05:
            content.append(mangled(draw.choice(files), draw))
        form = draw.choice([None, recognised(chosen), draw.choice(list(READERS))])
        began = time.perf_counter()
        try:
            trace = read_files(content, form, TraceOptions(step=draw.choice([None, 0, 3])))
            ends["graph" if trace.graph else "report"] += 1
        except InterlaceError as error:
            ends[error.faults[0].code] += 1
        took = time.perf_counter() - began
        slowest = max(slowest, took)
        assert took < HANG, f"seed {seed} took {took:.1f} s"
    print(f"{COUNT:,} inputs of {len(files)} files; slowest {slowest:.2f} s")
    for code, count in ends.most_common():
        print(f"  {count:>6,}  {code}")


if __name__ == "__main__":
    main()
