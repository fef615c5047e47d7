"""A small web shop that keeps sessions, carts and pages of articles in Redis or memcached: an application for 'kvtrial record'.

    python3 -m pip install redis pymemcache
    python3 examples/shop.py redis 6379          # its store, and the port of it on this machine
    python3 examples/shop.py memcached 7000 --seed 7 --visits 500

What its visitors do follows from the seed alone, whatever the store: it prints what was sold and a digest of every page it showed.
"""

import argparse
import concurrent.futures
import hashlib
import json
import random

ARTICLES = 400
SESSION_S = 1800  # a session lives so long after the last page of its visitor
CART_S = 86400
ARTICLE_S = 300
LOGINS_S = 3600


class Redis:
    """Redis by redis-py: pipelines, and a time to live with each value."""

    def __init__(self, port):
        import redis

        self.client = redis.Redis(host="127.0.0.1", port=port)

    def get(self, key):
        return self.client.get(key)

    def get_and_keep(self, key, ttl_s):
        return self.client.getex(key, ex=ttl_s)

    def get_many(self, keys):
        return self.client.mget(keys)

    def put(self, key, value, ttl_s):
        self.client.set(key, value, ex=ttl_s)

    def put_many(self, pairs, ttl_s):
        with self.client.pipeline(transaction=False) as pipeline:
            for key, value in pairs.items():
                pipeline.setex(key, ttl_s, value)
            pipeline.execute()

    def put_and_keep(self, key, value, ttl_s, other):
        with self.client.pipeline(transaction=True) as pipeline:
            pipeline.set(key, value, px=1000 * ttl_s)
            pipeline.expire(other, ttl_s)
            pipeline.execute()

    def count(self, key, ttl_s):
        with self.client.pipeline(transaction=False) as pipeline:
            pipeline.set(key, 0, ex=ttl_s, nx=True)
            pipeline.incr(key)
            return pipeline.execute()[1]

    def delete(self, *keys):
        self.client.delete(*keys)

    def close(self):
        self.client.close()


class Memcached:
    """memcached by pymemcache: several keys at once, writes without a reply, touches."""

    def __init__(self, port):
        import pymemcache

        self.client = pymemcache.Client(("127.0.0.1", port), default_noreply=False, no_delay=True)

    def get(self, key):
        return self.client.get(key)

    def get_and_keep(self, key, ttl_s):
        self.client.touch(key, expire=ttl_s)
        return self.client.get(key)

    def get_many(self, keys):
        found = self.client.get_many(keys)
        return [found.get(key) for key in keys]

    def put(self, key, value, ttl_s):
        self.client.set(key, value, expire=ttl_s)

    def put_many(self, pairs, ttl_s):
        # Without replies: on one connection what is asked next is answered after them.
        self.client.set_many(pairs, expire=ttl_s, noreply=True)

    def put_and_keep(self, key, value, ttl_s, other):
        self.client.set(key, value, expire=ttl_s)
        self.client.touch(other, expire=ttl_s)

    def count(self, key, ttl_s):
        self.client.add(key, b"0", expire=ttl_s)
        return self.client.incr(key, 1)

    def delete(self, *keys):
        self.client.delete_many(keys)

    def close(self):
        self.client.close()


def article(number):
    """The page of an article, as the shop's database would give it."""
    chance = random.Random(number)
    words = " ".join(chance.choice(["fine", "small", "blue", "oak", "wool", "glass"]) for _ in range(chance.randrange(10, 300)))
    return json.dumps({"sku": f"A{number:04}", "cents": chance.randrange(199, 19900, 100), "text": words}).encode()


class Shop:
    """The visitors of one thread, with a connection of its own: no other thread has their sessions and carts."""

    def __init__(self, store, seed, visits, visitors):
        self.store, self.chance, self.visits, self.visitors = store, random.Random(seed), visits, visitors
        self.shown, self.orders, self.cents = hashlib.sha256(), 0, 0

    def show(self, *parts):
        for part in parts:
            self.shown.update(repr(part).encode() + b"\n")

    def articles(self, numbers):
        """Pages of articles: what the cache has not is read from the database, and kept."""
        keys = [f"article:A{number:04}" for number in numbers]
        found = self.store.get_many(keys)
        missing = {key: article(number) for key, number, page in zip(keys, numbers, found) if page is None}
        if missing:
            self.store.put_many(missing, ARTICLE_S)
        pages = [page if page is not None else missing[key] for key, page in zip(keys, found)]
        self.show(*pages)
        return [json.loads(page) for page in pages]

    def page(self, session_key, cart_key):
        """A page: the session lives on, two or three articles are shown, and one may come into the cart."""
        session = json.loads(self.store.get_and_keep(session_key, SESSION_S))
        # Few articles are popular.
        numbers = {int(ARTICLES * self.chance.random() ** 3) for _ in range(3)}
        seen = self.articles(sorted(numbers))
        session["seen"] = (session["seen"] + [item["sku"] for item in seen])[-20:]
        if self.chance.random() < 0.3:
            cart = json.loads(self.store.get(cart_key) or b"[]")
            cart.append({"sku": seen[0]["sku"], "cents": seen[0]["cents"]})
            self.show(cart)
            self.store.put(cart_key, json.dumps(cart).encode(), CART_S)
        self.store.put_and_keep(session_key, json.dumps(session).encode(), SESSION_S, cart_key)
        self.show(session["visitor"], session["seen"])

    def visit(self, visitor):
        """A visit: log in, look around, and buy, log out or just leave."""
        session_key, cart_key = f"session:{visitor:06}", f"cart:{visitor:06}"
        self.show(self.store.count(f"logins:{visitor:06}", LOGINS_S))
        session = {"visitor": visitor, "seen": [], "agent": "x" * self.chance.randrange(40, 400)}
        self.store.put(session_key, json.dumps(session).encode(), SESSION_S)
        for _ in range(self.chance.randrange(1, 12)):
            self.page(session_key, cart_key)
        end = self.chance.random()
        if end < 0.4:
            cart = json.loads(self.store.get(cart_key) or b"[]")
            if cart:
                self.orders += 1
                self.cents += sum(item["cents"] for item in cart)
            self.show("order", cart)
            self.store.delete(cart_key, session_key)
        elif end < 0.6:
            self.store.delete(session_key)

    def run(self):
        for _ in range(self.visits):
            self.visit(self.chance.choice(self.visitors))
        self.store.close()


def main():
    options = argparse.ArgumentParser(description="A small web shop that works with Redis or memcached.")
    options.add_argument("store", choices=["redis", "memcached"])
    options.add_argument("port", type=int)
    options.add_argument("--seed", type=int, default=42)
    options.add_argument("--visits", type=int, default=300, help="over all threads")
    options.add_argument("--threads", type=int, default=3)
    given = options.parse_args()
    store = {"redis": Redis, "memcached": Memcached}[given.store]
    shops = []
    for thread in range(given.threads):
        mine = range(thread, max(given.visits // 3, given.threads), given.threads)
        shops.append(Shop(store(given.port), f"{given.seed}/{thread}", given.visits // given.threads, mine))
    with concurrent.futures.ThreadPoolExecutor(given.threads) as threads:
        for done in [threads.submit(shop.run) for shop in shops]:
            done.result()
    shown = hashlib.sha256(b"".join(shop.shown.digest() for shop in shops)).hexdigest()
    orders, cents = sum(shop.orders for shop in shops), sum(shop.cents for shop in shops)
    print(f"{orders} orders, {cents} cents, pages {shown}")


if __name__ == "__main__":
    main()
