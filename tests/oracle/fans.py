#!/usr/bin/env python3
"""The answer of the fans job, by the shortest method that can be read in a minute: a dict of dicts and json.dumps.

    fans.py FILE [LINES]     FILE: profile TAB page SPACE page ..., plain or .gz; LINES: only the first LINES lines

Shares no code with kvtrial. Prints JSON: counts, sizes of all records read and written, digests, one query.
"""
import collections, gzip, hashlib, json, sys


def main(path, limit):
    opener = gzip.open if path.endswith('.gz') else open
    store, read, written, misses, mentions = {}, 0, 0, 0, 0
    with opener(path, 'rt', encoding='utf-8', newline='\n') as lines:
        for number, line in enumerate(lines):
            if number == limit:
                break
            pages = list(dict.fromkeys(page for page in line.rstrip('\n').split('\t')[1].split(' ') if page))
            for page in pages:
                mentions += 1
                raw = store.get(page)
                misses += raw is None
                read += len(raw or '')
                record = json.loads(raw) if raw else {'fans': 0, 'with': {}}
                record['fans'] += 1
                for other in pages:
                    if other != page:
                        record['with'][other] = record['with'].get(other, 0) + 1
                raw = json.dumps(record, separators=(',', ':'), ensure_ascii=False)
                store[page] = raw
                written += len(raw.encode())
    records = {page: json.loads(raw) for page, raw in store.items()}
    pairs = [f'{a}\t{b}\t{n}\n'.encode() for a, record in records.items() for b, n in record['with'].items()]
    fans = [f'{page}\t{record["fans"]}\n'.encode() for page, record in records.items()]
    digest = lambda lines: hashlib.sha256(b''.join(sorted(lines))).hexdigest()
    top = min(records, key=lambda page: (-records[page]['fans'], page.encode()))
    partners = sorted(records[top]['with'].items(), key=lambda item: (-item[1], item[0].encode()))
    return {
        'mentions': mentions, 'pages': len(store), 'misses': misses,
        'value_bytes_read': read, 'value_bytes_written': written,
        'final_value_bytes': sum(len(raw.encode()) for raw in store.values()),
        'largest_value': max(len(raw.encode()) for raw in store.values()),
        'pair_increments': sum(n for record in records.values() for n in record['with'].values()),
        'ordered_pairs': len(pairs),
        'sha256_pairs': digest(pairs), 'sha256_fans': digest(fans),
        'top_page': top, 'top_page_fans': records[top]['fans'], 'top_page_partners': len(partners), 'top10': partners[:10],
    }


if __name__ == '__main__':
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else -1), indent=1))
