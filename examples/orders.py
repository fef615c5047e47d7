"""Prints made-up orders of a shop as JSON lines, the same ones every time: python3 examples/orders.py 20000 > orders.jsonl"""

import json
import random
import sys

COUNTRIES = ["DE", "FR", "NL", "PL", "ES", "IT", "SE", "AT"]

many = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
chance = random.Random(44)
for number in range(1, many + 1):
    items = [
        {"sku": f"A{chance.randrange(5000):04}", "count": chance.randint(1, 4), "cents": chance.randrange(199, 19900, 100)}
        for _ in range(chance.randint(1, 5))
    ]
    order = {
        "id": f"{number:08}",
        "day": f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
        "customer": f"c{chance.randrange(many // 4 + 1):06}",
        "country": chance.choice(COUNTRIES),
        "items": items,
        "cents": sum(item["count"] * item["cents"] for item in items),
    }
    print(json.dumps(order))
