"""Whole files of all formats, and the same broken by a seed: as bytes, packed or not."""

import gzip
import io
import random
import tarfile
import zipfile
import zlib
from pathlib import Path

from tests import horovod_events, trace_files

DATA = Path(__file__).parent / "data"
#: Longer files are cut first: time goes into breaking, not into reading [bytes].
LONGEST = 200_000
#: Files that are read together: one is broken, the other whole.
PAIR = ("jax_profile.json.gz", "jax_hlo.txt.gz")
_JOB = trace_files.Job((50, 30, 70), (4_000, 8_000, 1_200))


def made() -> list[bytes]:
    """Return small files, made here: one of each format, and Horovod's as 0.19 wrote it."""
    files = [file for write in trace_files.ALL_WRITERS.values() for file in write(_JOB)]
    return [*files, horovod_events.old(horovod_events.steps(2))]


def recorded(folder: Path | None = None) -> list[bytes]:
    """Return files that tools wrote, unpacked: the project's, and those of a folder."""
    paths = [path for path in sorted(DATA.iterdir()) if path.is_file() and path.suffix != ".py"]
    if folder is not None:
        paths += [path for path in sorted(folder.rglob("*")) if path.is_file()]
    contents = (path.read_bytes() for path in paths)
    return [_unpacked(c) if c[:2] == b"\x1f\x8b" else c for c in contents]


def _unpacked(content: bytes) -> bytes:
    """Unpack a gzip file, one that ends in the middle as far as it goes."""
    return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content)


def pair() -> list[bytes]:
    """Return the two files that are read together."""
    return [gzip.decompress((DATA / name).read_bytes()) for name in PAIR]


def mangled(content: bytes, draw: random.Random) -> bytes:
    """Break a file in one way, or a few, and pack it half of the time."""
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
    return whole if draw.random() < 0.5 else _packed(whole, draw)


def _packed(content: bytes, draw: random.Random) -> bytes:
    """Pack a file in one of the ways that are read, and break the packing at times."""
    into = io.BytesIO()
    match draw.randrange(4):
        case 0:
            with tarfile.open(fileobj=into, mode="w") as archive:
                info = tarfile.TarInfo("rank0.json")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            if draw.random() < 0.5:
                into = io.BytesIO(gzip.compress(into.getvalue(), 1))
        case 1:
            with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(zipfile.ZipInfo("rank0.json"), content)
        case _:
            into.write(gzip.compress(content, 1))
    packed = bytearray(into.getvalue())
    if draw.random() < 0.2:
        packed[draw.randrange(len(packed))] ^= 1 << draw.randrange(8)
    return bytes(packed[: draw.randrange(len(packed) + 1)] if draw.random() < 0.3 else packed)
