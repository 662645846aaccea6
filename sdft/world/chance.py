"""Random generators by name, so that one draw never shifts another.

Each use of chance has its own generator, keyed by the seed, a purpose in words and whatever else
identifies the draw (an event's number, say). Adding a draw for one purpose leaves the others alone.
"""

from __future__ import annotations

import zlib

import numpy as np


def named_generator(seed: int, purpose: str, *key: int) -> np.random.Generator:
    """A fresh PCG64 generator for ``purpose``; the same arguments give the same numbers.

    ``seed`` and ``key`` are integers >= 0. The name enters as its CRC-32, which, unlike Python's
    ``hash``, is the same in every process.
    """
    words = [seed, zlib.crc32(purpose.encode("utf-8")), *key]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
