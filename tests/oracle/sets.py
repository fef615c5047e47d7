#!/usr/bin/env python3
"""The answer of the job sets, by the shortest method that can be read in a minute: Python's own sets.

    sets.py FILE                       FILE: SET,ID or SET<tab>ID per line, plain or .gz
    sets.py IDS COMMON KIND SEED       the generated sets: KIND random or dense, SEED as --seed

Shares no code with kvtrial. Prints JSON: sizes, the digest of the answer, and sha256 of the union's ids as 16 hex digits per line.
"""
import functools, gzip, hashlib, json, sys

MASK = 2**64 - 1


def mix(x):
    """One round of splitmix64 (Steele, Lea, Flood 2014)."""
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def read(path):
    sets = {}
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as lines:
        for line in lines:
            if line.strip():
                name, number = line.replace('\t', ',', 1).split(',', 1)
                sets.setdefault(name.strip(), set()).add(int(number))
    return sets


def generated(ids, common, kind, seed):
    first = (seed & 2**32 - 1) << 32 if kind == 'random' else 0
    make = mix if kind == 'random' else lambda x: x
    return {
        'a': {make(x) for x in range(first, first + ids)},
        'b': {make(x) for x in range(first + ids - common, first + 2 * ids - common)},
    }


def main(sets):
    names = sorted(sets, key=lambda name: name.encode())
    pairs = list(zip(names, names[1:])) + ([tuple(names)] if len(names) > 2 else [])
    lots = [('set', (name,), sets[name]) for name in names]
    for word, combine in (('union', set.union), ('intersection', set.intersection)):
        lots += [(word, some, functools.reduce(combine, (sets[name] for name in some))) for some in pairs]
    lines = []
    for word, some, lot in lots:
        sums = sum(map(mix, lot)) & MASK, sum(mix(mix(x)) for x in lot) & MASK
        lines.append(f'{word}\t{",".join(some)}\t{len(lot)}\t{sums[0]:016x}{sums[1]:016x}\n')
    union = functools.reduce(set.union, sets.values())
    hexed = ''.join(f'{x:016x}\n' for x in sorted(union))
    return {
        'ids': len(union),
        'sizes': {f'{word} {",".join(some)}': len(lot) for word, some, lot in lots},
        'sha256': hashlib.sha256(''.join(sorted(lines)).encode()).hexdigest(),
        'sha256_union': hashlib.sha256(hexed.encode()).hexdigest(),
    }


if len(sys.argv) == 2:
    answer = main(read(sys.argv[1]))
else:
    answer = main(generated(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
print(json.dumps(answer, indent=1))
