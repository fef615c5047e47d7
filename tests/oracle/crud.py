#!/usr/bin/env python3
"""The answer of the crud job, by the shortest method that can be read in a minute: all lines, sorted.

    crud.py ROWS

Shares no code with kvtrial. Prints JSON: the digest of the lines `phase TAB key TAB value`.
"""
import hashlib, json, sys


def main(rows):
    lines = []
    for row in range(rows):
        lines.append(f'insert\t{row}\t{row:010}ABCDEF\n')
        lines.append(f'update\t{row}\t{row:010}1230\n')
        lines.append(f'delete\t{row}\tmissing\n')
    data = ''.join(sorted(lines)).encode()
    return {'rows': rows, 'sha256': hashlib.sha256(data).hexdigest()}


print(json.dumps(main(int(sys.argv[1])), indent=1))
