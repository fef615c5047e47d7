#!/usr/bin/env python3
"""The answer of the job bulk, by the shortest method that can be read in a minute: json, md5 and a dict.

    bulk.py FILE GROUP SUM [LINES]     FILE: one JSON document per line, plain or .gz; LINES: only the first LINES lines

Shares no code with kvtrial. Prints JSON: counts, the digest of the documents under each id scheme, the reduction.
"""
import gzip, hashlib, json, sys


def main(path, group, total, limit):
    opener = gzip.open if path.endswith('.gz') else open
    sequential, random, groups, documents, size = [], [], {}, 0, 0
    with opener(path, 'rb') as lines:
        for number, line in enumerate(lines, 1):
            if number - 1 == limit:
                break
            document = line.rstrip(b'\n')
            content = hashlib.sha256(document).hexdigest()
            sequential.append(f'{number:010d}\t{content}\n')
            random.append(f'{hashlib.md5(str(number).encode()).hexdigest()}\t{content}\n')
            fields = json.loads(document)
            entry = groups.setdefault(fields[group], [0, 0])
            entry[0] += 1
            entry[1] += fields[total]
            documents, size = documents + 1, size + len(document)
    digest = lambda lines: hashlib.sha256(''.join(sorted(lines)).encode()).hexdigest()
    return {
        'documents': documents, 'bytes': size,
        'sha256_sequential': digest(sequential), 'sha256_random': digest(random),
        'groups': len(groups), 'sum': sum(entry[1] for entry in groups.values()),
        'sha256_groups': digest(f'{key}\t{count}\t{sum}\n' for key, (count, sum) in groups.items()),
    }


if __name__ == '__main__':
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else -1), indent=1))
