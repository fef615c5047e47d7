#!/bin/sh
# The studies that the site of this repository is built from: every job on every store that is found here, each measured, checked and added to
# docs/results by kvtrial publish. Hours in full, so by part, and what was finished is not run again with --resume.
#
#   tools/studies.sh                       everything; says first how long it takes
#   tools/studies.sh --list                the parts, and how long each takes here
#   tools/studies.sh ycsb-a fans           these parts
#   tools/studies.sh ycsb-a -- redis lmdb  a part on these stores
#   tools/studies.sh --resume [PART...]    what is not finished
#   tools/studies.sh --quick [PART...]     three trials of each store instead of six, and the short self-test
#   tools/studies.sh --small [PART...]     less work in each trial: what a store of a thousand operations per second ends in 15 s
#
# KVTRIAL: the program (default: kvtrial). STUDIES: where unpacked studies are kept (default: target/studies). RESULTS: where they are added (docs/results).
set -eu
cd "$(dirname "$0")/.."
kvtrial=${KVTRIAL:-kvtrial}
studies=${STUDIES:-target/studies}
results=${RESULTS:-docs/results}

# PART | seconds of a trial on a library, on a server | options of kvtrial run | its sizes | its sizes with --small
# | stores, where they are not all that are found, or "with OPERATION": those that have it
parts='
fans      |  2 | 10 | fans || --data debian-1k
counts    |  3 | 15 | counts || --data gen:400:42
append    |  2 |  8 | append || --data gen:4000:42
bulk      |  2 |  8 | bulk ||
crud      |  3 | 20 | crud --clients 4 || --set rows=4000
grow      |  2 |  8 | grow || --set items=4000
sets      |  1 |  5 | sets | --set ids=200000 | --set ids=10000
events    |  1 |  5 | events || --set events=100000
replay    |  2 | 10 | replay --data web12 || --set requests=10000
ycsb-a    |  2 |  6 | ycsb --clients 4 --set workload=A | --set records=20000 --set operations=200000 | --set records=5000 --set operations=20000
ycsb-b    |  1 |  6 | ycsb --clients 4 --set workload=B | --set records=20000 --set operations=200000 | --set records=5000 --set operations=20000
ycsb-c    |  1 |  6 | ycsb --clients 4 --set workload=C | --set records=20000 --set operations=200000 | --set records=5000 --set operations=20000
ycsb-d    |  1 |  6 | ycsb --clients 4 --set workload=D | --set records=20000 --set operations=200000 | --set records=5000 --set operations=20000
ycsb-e    |  3 | 12 | ycsb --clients 4 --set workload=E | --set records=20000 --set operations=20000  | --set records=2000 --set operations=2000 | with scan
ycsb-f    |  2 |  8 | ycsb --clients 4 --set workload=F | --set records=20000 --set operations=200000 | --set records=5000 --set operations=20000
nodes     |  5 | 10 | nodes --clients 4 || --set records=5000 --set operations=5000 | redis-unix,nodes=4 redis-unix,nodes=4,shard=ketama memcached-unix,nodes=4 sqlite,nodes=4
'

mode=run
size=full
trials=6
chosen=
proofs=
while [ $# -gt 0 ]; do
    case $1 in
    --list) mode=list ;;
    --resume) mode=resume ;;
    --quick) trials=3 && proofs=--quick ;;
    --small) size=small ;;
    --) shift && break ;;
    -*) echo "$1: there are --list, --resume, --quick and --small, then parts, then -- and stores" >&2 && exit 2 ;;
    *) chosen="$chosen $1" ;;
    esac
    shift
done
named=$*

# Names of the stores of a class that are found, and have an operation by themselves if one is named; of those with two sockets the unix one is
# measured by itself.
found() { # CLASS [OPERATION]
    "$kvtrial" stores --json | python3 -c '
import json, sys
for store in json.load(sys.stdin):
    able = all(operation in store["native"] for operation in sys.argv[2:])
    if store["class"] == sys.argv[1] and store["presence"]["status"] == "found" and able:
        print(store["name"])' "$@"
}
of_class() { # CLASS [OPERATION]
    for store in $(found "$@"); do
        case " ${named:-$store} " in *" $store "*) printf '%s ' "$store" ;; esac
    done
}
of_servers() { # [OPERATION]
    of_class network "$@"
    of_class distributed "$@"
}
embedded=$(of_class embedded)
network=$(of_servers)
count() { echo $#; }

# Lines PART|LIBRARY_S|SERVER_S|OPTIONS|STORES of what was asked for.
asked() {
    echo "$parts" | sed 's/ *| */|/g' | while IFS='|' read -r part library_s server_s options full small stores; do
        [ -n "$part" ] || continue
        case " ${chosen:-$part} " in *" $part "*) ;; *) continue ;; esac
        case $size in
        full) echo "$part|$library_s|$server_s|$options $full|$stores" ;;
        small) echo "$part-small|1|4|$options $small|$stores" ;;
        esac
    done
}
for part in $chosen; do
    echo "$parts" | grep -q "^$part  *|" || { echo "$part: no such part; tools/studies.sh --list names them" >&2 && exit 2; }
done

# Seconds of a part: each trial, and what starting and reading back takes.
seconds() { # LIBRARY_S SERVER_S STORES
    # shellcheck disable=SC2086
    case $3 in
    "" | "with "*) echo $((trials * ($(count $embedded) * ($1 + 2) + $(count $network) * ($2 + 5)))) ;;
    *) echo $((trials * $(count $3) * ($2 + 5))) ;;
    esac
}
clock() { printf '%d h %02d min' $(($1 / 3600)) $(($1 / 60 % 60)); }

all_s=0
list=$(mktemp)
trap 'rm -f "$list"' EXIT
# Not in a pipe, where sums and failures would be lost.
asked >"$list"
while IFS='|' read -r part library_s server_s _ stores <&3; do
    part_s=$(seconds "$library_s" "$server_s" "$stores")
    all_s=$((all_s + part_s))
    [ $mode != list ] || echo "$part: about $(clock $part_s)"
done 3<"$list"
# shellcheck disable=SC2086
echo "$(count $embedded) libraries and $(count $network) servers, $trials trials of each: about $(clock $all_s) in all"
[ $mode != list ] || exit 0

# What of a study is published: nothing of one that the self-test does not vouch for.
# shellcheck disable=SC2086
"$kvtrial" selftest $proofs >/dev/null || { echo "the self-test did not pass: make the machine quieter (kvtrial selftest says how), and begin again" >&2 && exit 4; }

failed=
study() { # NAME OPTIONS STORE...
    name=$1
    options=$2
    shift 2
    [ $# -gt 0 ] || return 0
    out=$studies/$name
    resume=
    if [ -e "$out/study.json" ] || [ -e "$out/trials.jsonl" ]; then
        [ $mode = resume ] || { echo "$out is there already: --resume leaves what is finished, or move it away" >&2 && exit 2; }
        resume=--resume
    fi
    # shellcheck disable=SC2086
    set -- $(printf -- '-s %s ' "$@")
    echo "== $name: kvtrial run $options $*"
    # 1: some cell is void or was not run, which is shown.
    # shellcheck disable=SC2086
    "$kvtrial" run $options --repeats "$trials" "$@" --out "$out" $resume >"$studies/$name.txt" || [ $? = 1 ] || {
        echo "$name failed; its words are above, and in $studies/$name.txt" >&2
        failed="$failed $name"
        return 0
    }
    "$kvtrial" publish "$out" --to "$results" || failed="$failed $name"
}
mkdir -p "$studies" "$results"
while IFS='|' read -r part _ _ options stores <&3; do
    case $stores in
    "") on_libraries=$embedded on_servers=$network ;;
    "with "*) on_libraries=$(of_class embedded "${stores#with }") on_servers=$(of_servers "${stores#with }") ;;
    *)
        # shellcheck disable=SC2086
        [ -n "$named" ] || study "$part" "$options" $stores
        continue
        ;;
    esac
    # shellcheck disable=SC2086
    study "$part-embedded" "$options" $on_libraries
    # shellcheck disable=SC2086
    study "$part-servers" "$options" $on_servers
done 3<"$list"
if [ -n "$failed" ]; then
    echo "not added:$failed" >&2
    exit 1
fi
echo "All added to $results. Look at them: $kvtrial site $results -o target/site"
