//! Every format: what is read of a good file, what is said of a bad one, and that nothing in a file can do harm.
#![allow(clippy::unwrap_used)]

use data::digest::of_lines;
use kvtrial_trace::{CacheSize, Eviction, Filling, RequestKind, SHIPPED, Trace, TraceFormat, TraceOptions, hits};
use std::path::Path;

const ALL: TraceOptions = TraceOptions { format: None, most: u64::MAX, seed: 42 };

fn read(name: &str, bytes: &[u8]) -> Result<Trace, data::DataError> {
    Trace::of_bytes(name, bytes.to_vec().leak(), ALL)
}

fn error(name: &str, bytes: impl AsRef<[u8]>) -> String {
    read(name, bytes.as_ref()).unwrap_err().to_string()
}

/// A request: key, kind, bytes of the value, microseconds since the first.
type Seen = (String, RequestKind, Option<u32>, Option<u64>);

fn seen(trace: &Trace) -> Vec<Seen> {
    let one = |(request, &id): (usize, &u32)| {
        let key = String::from_utf8_lossy(&trace.keys().key(id)).into_owned();
        (key, trace.kind(request), trace.value_bytes(request), trace.time_us(request))
    };
    trace.ids().iter().enumerate().map(one).collect()
}

fn request(key: &str, kind: RequestKind, bytes: Option<u32>, time_us: Option<u64>) -> Seen {
    (key.into(), kind, bytes, time_us)
}

use RequestKind::{Delete, Get, Set};

/// Requests of `oracleGeneral`.
fn oracle(records: &[(u32, u64, u32, i64)]) -> Vec<u8> {
    let bytes = |&(seconds, id, size, next): &(u32, u64, u32, i64)| {
        [&seconds.to_le_bytes()[..], &id.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    records.iter().flat_map(bytes).collect()
}

/// A file of LCS with records that are all of this form.
fn lcs(version: u64, records: &[Vec<u8>]) -> Vec<u8> {
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    let mut bytes = [&magic[..], &version.to_le_bytes(), &[0; 8192 - 24], &magic].concat();
    records.iter().for_each(|record| bytes.extend_from_slice(record));
    bytes
}

const TWITTER: &str = "0,a:1,3,10,7,get,0\n0,b,with,commas,13,20,7,set,60\n1,a:1,3,0,7,delete,0\n5,a:1,3,8,9,incr,0\n";
const META: &str =
    "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n3,k1,2,GET,2,9,1,0\n4,k2,2,SET_LEASE,1,30,0,60\n";
const MONITOR: &str = concat!(
    "OK\n",
    "1339518083.107412 [0 127.0.0.1:60866] \"set\" \"k\\x00\\\"\" \"four\" \"ex\" \"9\"\n",
    "1339518083.107512 [2 unix:/tmp/s] \"MGET\" \"a\" \"b\"\n",
    "1339518084.000000 [0 lua] \"hset\" \"h\" \"f\" \"v\"\n",
    "1339518085.107412 [0 [::1]:60866] \"mset\" \"a\" \"1\" \"b\" \"22\"\n",
    "1339518085.107413 [0 127.0.0.1:60866] \"unlink\" \"a\"\n"
);
const MONITOR_TRACE: &str = concat!(
    "1000000,1,0,GET,user:1,READ,1,string\n",
    "1000010,2,0,SET,a,b,WRITE,0,string\n",
    "1000020,3,0,HSET,h,WRITE,0,hash\n",
    "1500000,4,3,DEL,user:1,WRITE,1,string\n"
);

#[test]
fn the_shipped_trace_has_the_requests_and_hits_that_are_known_of_it() {
    let trace = Trace::read(Path::new(SHIPPED), ALL).unwrap();
    assert_eq!((trace.ids().len(), trace.keys().len(), trace.count(Get)), (95_607, 13_756, 95_607));
    let mut counts = vec![0_u64; trace.keys().len()];
    trace.ids().iter().for_each(|&id| counts[id as usize] += 1);
    let line = |(id, count): (u32, &u64)| format!("{}\t{count}", String::from_utf8(trace.keys().key(id)).unwrap());
    let digest = of_lines((0..).zip(&counts).map(line).collect());
    assert_eq!(digest, "sha256:931457cc2fd71cebc41379afc50a8a39caab59d1f84263bd6c587d3159a1be86");
    // Of a script that shares no code with this, and published with cache2k's benchmarks.
    for (objects, lru, fifo) in [
        (100, 34_631, 33_007),
        (500, 53_329, 50_075),
        (1000, 61_882, 58_152),
        (2000, 69_371, 65_632),
        (5000, 77_153, 74_536),
        (10_000, 81_091, 79_695),
        (13_756, 81_851, 81_851),
    ] {
        let of = |eviction| hits(&trace, eviction, CacheSize::Objects(objects), Filling::OnMiss, 100);
        assert_eq!((of(Eviction::Lru), of(Eviction::Fifo)), (lru, fifo), "{objects}");
        assert_eq!(hits(&trace, Eviction::Lru, CacheSize::Objects(objects), Filling::Never, 100), 0);
    }
}

#[test]
fn a_cache_of_bytes_drops_as_many_as_make_room_and_a_delete_makes_some() {
    // Keys of one byte; values of 9, 9, 19, then a set of 4.
    let trace = read("t.csv", b"0,a,1,9,1,set,0\n0,b,1,9,1,set,0\n0,a,1,9,1,get,0\n0,c,1,19,1,set,0\n0,a,1,9,1,get,0\n0,b,1,9,1,get,0\n0,c,1,19,1,delete,0\n0,b,1,4,1,set,0\n0,b,1,4,1,get,0\n0,c,1,19,1,get,0\n").unwrap();
    let of = |bytes, eviction| hits(&trace, eviction, CacheSize::Bytes(bytes), Filling::Never, 100);
    assert_eq!(
        [of(19, Eviction::Lru), of(20, Eviction::Lru), of(30, Eviction::Lru), of(30, Eviction::Fifo)],
        [2, 2, 3, 3]
    );
    assert_eq!([of(40, Eviction::Lru), of(4, Eviction::Lru)], [4, 0]);
}

#[test]
fn every_format_is_seen_by_its_content_and_read_to_the_last_field() {
    let cases: [(&str, TraceFormat, Vec<u8>, Vec<Seen>); 6] = [
        (
            "x.csv",
            TraceFormat::Twitter,
            TWITTER.into(),
            vec![
                request("a:1", Get, Some(10), None),
                request("b,with,commas", Set, Some(20), None),
                request("a:1", Delete, None, None),
                request("a:1", Set, Some(8), None),
            ],
        ),
        (
            "x.csv",
            TraceFormat::Meta,
            META.into(),
            vec![
                request("k1", Get, Some(9), None),
                request("k1", Get, Some(9), None),
                request("k2", Set, Some(30), None),
            ],
        ),
        (
            "x.bin",
            TraceFormat::Oracle,
            oracle(&[(5, 7, 100, 2), (5, 1 << 40, 3, -1), (9, 7, 100, -1)]),
            vec![
                request("7", Get, Some(100), None),
                request("1099511627776", Get, Some(3), None),
                request("7", Get, Some(100), None),
            ],
        ),
        (
            "x",
            TraceFormat::Lcs,
            lcs(
                2,
                &[[
                    &7_u32.to_le_bytes()[..],
                    &8_u64.to_le_bytes(),
                    &9_u32.to_le_bytes(),
                    &[3, 0, 0, 0],
                    &(-1_i64).to_le_bytes(),
                ]
                .concat()],
            ),
            vec![request("8", Set, Some(9), None)],
        ),
        (
            "x.log",
            TraceFormat::Monitor,
            MONITOR.into(),
            vec![
                request("k\0\"", Set, Some(4), Some(0)),
                request("db2:a", Get, None, Some(100)),
                request("db2:b", Get, None, Some(100)),
                request("a", Set, Some(1), Some(2_000_000)),
                request("b", Set, Some(2), Some(2_000_000)),
                request("a", Delete, None, Some(2_000_001)),
            ],
        ),
        (
            "x.csv",
            TraceFormat::MonitorTrace,
            MONITOR_TRACE.into(),
            vec![
                request("user:1", Get, None, Some(0)),
                request("a,b", Set, None, Some(10)),
                request("db3:user:1", Delete, None, Some(500_000)),
            ],
        ),
    ];
    for (name, format, bytes, expected) in cases {
        let trace = read(name, &bytes).unwrap();
        assert_eq!(trace.format(), format);
        let mut found = seen(&trace);
        if format.counts_seconds() {
            let times: Vec<u64> = found.iter_mut().map(|request| request.3.take().unwrap()).collect();
            assert!(times.is_sorted() && times[0] < 1_000_000, "{format:?}: {times:?}");
        }
        assert_eq!(found, expected, "{format:?}");
        // Packed it is the same; and so are the first requests alone.
        let mut packed = Vec::new();
        flate2_of(&bytes, &mut packed);
        assert_eq!(seen(&read(&format!("{name}.gz"), &packed).unwrap()), seen(&trace), "{format:?}");
        let first = Trace::of_bytes(name, bytes.leak(), TraceOptions { most: 1, ..ALL }).unwrap();
        assert_eq!(seen(&first)[0], (expected[0].0.clone(), expected[0].1, expected[0].2, first.time_us(0)));
        assert_eq!(first.ids().len(), 1);
    }
    let cache2k = read("dir/x.trace", b"\0\0\0\x07\0\0\x01\0").unwrap();
    assert_eq!(seen(&cache2k), [request("7", Get, None, None), request("256", Get, None, None)]);
    let left = read("x.log", MONITOR.as_bytes()).unwrap();
    assert_eq!(
        (left.left_out(), left.other_writes(), read("t", TWITTER.as_bytes()).unwrap().other_writes()),
        (1, 0, 1)
    );
}

fn flate2_of(bytes: &[u8], packed: &mut Vec<u8>) {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap();
}

#[test]
fn what_is_no_trace_is_named_by_line_or_byte_with_the_remedy() {
    for (name, bytes, words) in [
        (
            "x",
            "no trace".into(),
            "it shows no format of a trace that is known; name it by --set format=, one of kvtrace, cache2k,",
        ),
        ("x.trace", "".into(), "it holds no request"),
        ("x.trace", "\0\0\0\x01\0\0".into(), "it is cut off: of the record of 4 bytes at byte 4 there are 2"),
        ("x", format!("{TWITTER}6,a:1,3,8"), "line 5, column 1: it has fewer than seven fields; write timestamp,key,"),
        ("x", format!("{TWITTER}6,a:1,3,8,9,fly,0"), "line 5, column 1: 'fly' is no operation"),
        ("x", format!("{TWITTER}6,a:1,3,many,9,get,0"), "line 5, column 1: the value size is 'many', no number"),
        (
            "x",
            format!("{TWITTER}4,a:1,3,8,9,get,0"),
            "line 5, column 1: the clock runs backwards: this request comes 1 s before",
        ),
        ("x", format!("{META}4,k1"), "line 4, column 1: it has 2 fields, the header 8"),
        ("x", format!("{META}2,k1,2,GET,2,9,1,0"), "line 4, column 1: the clock runs backwards"),
        ("x", format!("{META}4,k1,2,GET,x,9,1,0"), "line 4, column 1: the op_count is 'x', no number"),
        (
            "x",
            format!("{MONITOR}1339518086.107412 [0 127.0.0.1:60866] \"get\" \"k"),
            "line 7, column 1: a quoted word does not end",
        ),
        (
            "x",
            format!("{MONITOR}1339518086.107412 [0 127.0.0.1:60866] get k"),
            "line 7, column 1: its words are not in quotes",
        ),
        ("x", format!("{MONITOR}13395"), "line 7, column 1: it has no '[database client]'"),
        (
            "x",
            format!("{MONITOR}1339518080.107412 [0 lua] \"get\" \"k\""),
            "line 7, column 1: the clock runs backwards",
        ),
        ("x", format!("{MONITOR_TRACE}9,9,0,GET,k,READ,1"), "line 5, column 1: it has fewer than eight fields"),
        (
            "x",
            format!("{MONITOR_TRACE}2000000,9,0,GET,k,LOOK,1,string"),
            "line 5, column 1: 'LOOK' is neither READ nor WRITE",
        ),
    ] {
        let said = error(name, &bytes);
        assert!(said.contains(words), "{said}");
    }
    let cut = oracle(&[(5, 7, 100, 2), (5, 8, 3, -1)]);
    assert!(error("x.oracleGeneral", &cut[..40]).contains("of the record of 24 bytes at byte 24 there are 16"));
    let back = error("x.oracleGeneral.bin", oracle(&[(5, 7, 100, 2), (4, 8, 3, -1)]));
    assert!(back.contains("in the record at byte 24: the clock runs backwards"), "{back}");
    assert!(error("x", lcs(99, &[])).contains("it has version 99 of LCS; use the whole file"));
    let mut header = lcs(1, &[]);
    header[8191] ^= 1;
    assert!(error("x", &header).contains("magic number 0x123456789abcdef0 at both ends"));
    assert!(error("x", &header[..100]).contains("of the record of 8192 bytes at byte 0 there are 100"));
}

#[test]
fn a_meta_key_may_hold_commas_and_its_columns_are_those_of_the_header() {
    let trace = read("x", b"key,op,size,op_count\na,b,c,GET,5,1\n,SET,6,1\n").unwrap();
    assert_eq!(seen(&trace), [request("a,b,c", Get, Some(5), None), request("", Set, Some(6), None)]);
}

#[test]
fn nothing_in_a_file_can_do_harm() {
    let record =
        [&7_u32.to_le_bytes()[..], &8_u64.to_le_bytes(), &9_u32.to_le_bytes(), &(-1_i64).to_le_bytes()].concat();
    let samples: [Vec<u8>; 7] = [
        TWITTER.into(),
        META.into(),
        MONITOR.into(),
        MONITOR_TRACE.into(),
        oracle(&[(5, 7, 100, 2), (5, 8, 3, -1), (9, 7, 100, -1)]),
        lcs(1, &[record.clone(), record]),
        b"\0\0\0\x07\0\0\x01\0".into(),
    ];
    let mut rng = data::splitmix::Rng::new(7);
    let mut good = 0;
    for _ in 0..8_000 {
        let mut bytes = samples[rng.below(7) as usize].clone();
        for _ in 0..rng.below(6) {
            let at = rng.below(bytes.len() as u64 + 1) as usize;
            match rng.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, b"\",\n\\x[] 0-9\0\xff"[rng.below(13) as usize]),
                2 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
                _ => bytes.extend_from_slice(&samples[rng.below(7) as usize][..]),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let format = (rng.below(2) == 0).then(|| TraceFormat::ALL[rng.below(8) as usize]);
        // Leaked, as what is read from memory lives for ever: a few megabytes in all.
        let options = TraceOptions { format, most: 10_000, seed: 1 };
        match Trace::of_bytes("x.trace", bytes.leak(), options) {
            Ok(trace) => {
                assert!(!trace.ids().is_empty() && trace.ids().iter().all(|&id| (id as usize) < trace.keys().len()));
                good += 1;
            }
            Err(error) => assert!(error.to_string().contains("; "), "no remedy: {error}"),
        }
    }
    assert!((800..7_200).contains(&good), "{good}");
}
