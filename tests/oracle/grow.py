#!/usr/bin/env python3
"""The answer of the grow job, by the shortest method that can be read in a minute: all lines, sorted.

    grow.py ITEMS SEED [BYTES]

Shares no code with kvtrial. Prints JSON: counts and the digest of the lines `key TAB sha256 of the value`.
"""
import hashlib, json, sys

MASK, STEP = 2**64 - 1, 0x9E3779B97F4A7C15
SIZES = [(0, 40), (10000, 100), (50000, 180), (250000, 430), (500000, 660), (750000, 900), (900000, 1300), (950000, 1750),
         (990000, 4096), (997000, 12000), (999000, 36000), (999700, 110000), (999950, 400000), (1000000, 1048576)]


def splitmix(state):
    while True:
        state = z = (state + STEP) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def size(share):
    for (a, x), (b, y) in zip(SIZES, SIZES[1:]):
        if share < b:
            return x + (y - x) * (share - a) // (b - a)


def main(items, seed, fixed=None):
    draws, lines, total, largest = splitmix(seed), [], 0, 0
    for number in range(items):
        suffix, share = next(draws) * 1000 >> 64, next(draws) * 1000000 >> 64
        name = next(splitmix(number ^ seed))
        length, words = fixed or size(share), splitmix(name)
        value = number.to_bytes(8, 'little') + b''.join(next(words).to_bytes(8, 'little') for _ in range(length // 8))
        value = value[:length]
        lines.append(f'item:{name:016x}:{suffix}\t{hashlib.sha256(value).hexdigest()}\n')
        total, largest = total + length, max(largest, length)
    digest = hashlib.sha256(''.join(sorted(lines)).encode()).hexdigest()
    return {'items': items, 'value_bytes': total, 'largest_value_bytes': largest, 'sha256': digest}


print(json.dumps(main(*map(int, sys.argv[1:])), indent=1))
