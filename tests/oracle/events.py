#!/usr/bin/env python3
"""The answer of the job events, by the shortest method that can be read in a minute: a dictionary.

    events.py FILE           FILE: customer,date,quantity,cents (v1) or JSON (v2) per line, plain or .gz
    events.py EVENTS SEED    the generated events: SEED as --seed

Shares no code with kvtrial. Prints JSON: events, additions (how many counters the events go to), counters and the digest of the answer.
"""
import collections, gzip, hashlib, json, sys

MASK = 2**64 - 1


def numbers(seed):
    """splitmix64 (Steele, Lea, Flood 2014); each number is scaled to 0 <= x < n."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield z ^ z >> 31


def generated(events, seed):
    rng = numbers(seed)
    below = lambda n: next(rng) * n >> 64
    customers = max(1, events // 100)
    for number in range(events):
        month = number * 18 // events
        customer = 1 + below(customers) * below(customers) // customers
        known = below(10) > 0
        kind, quantity, price = below(10), 1 + below(5), 499 + below(2500)
        yield (
            customer if known else None,
            (1997 + month // 12) * 100 + 1 + month % 12,
            quantity if kind > 1 else None,
            quantity * price if kind > 2 else None,
        )


def read(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as lines:
        for line in filter(str.strip, lines):
            if line.lstrip().startswith('{'):
                event = json.loads(line)
                order = event.get('order') or {}
                customer = (event.get('customer') or {}).get('id')
                yield customer, event['time']['date'] // 100, order.get('quantity'), (order.get('price') or {}).get('cents')
            else:
                customer, date, quantity, cents = [
                    int(word) if word.strip() else None for word in (line.rstrip('\n').split(',') + ['', ''])[:4]
                ]
                yield customer, date // 100, quantity, cents


counters, events, additions = collections.Counter(), 0, 0
for customer, month, quantity, cents in generated(int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) == 3 else read(sys.argv[1]):
    events += 1
    for letter, number in (('m', month), ('c', customer)):
        if number is None:
            continue
        for what, value in (('', 1), ('q', quantity), ('c', cents)):
            if value is not None:
                counters[f'{letter}{what}:{number}'] += value
                additions += 1
lines = sorted(f'{key}\t{value}\n'.encode() for key, value in counters.items())
print(json.dumps({
    'events': events,
    'additions': additions,
    'counters': len(counters),
    'sha256': hashlib.sha256(b''.join(lines)).hexdigest(),
}, indent=1))
