"""Counter-based draws in plain integers."""

import math

MASK = (1 << 64) - 1


def mix(key, value):
    z = ((key ^ value) + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def unit(key):
    return ((key >> 11) + 0.5) / 2**53


def negative_positions(seed, epoch, label, probability, n):
    """Positions below n, in the order of the epoch, that a class draws as negatives."""
    key = mix(mix(mix(seed, 0x0E7A), epoch), label)
    positions, position, drawn = set(), -1, 0
    while probability > 0:
        skip = 0
        if probability < 1:
            skip = math.floor(math.log(unit(mix(key, drawn))) / math.log1p(-probability))
        drawn += 1
        position += 1 + skip
        if position >= n:
            break
        positions.add(position)
    return positions
