//! Records merged from bytes to bytes against the plain way (a map, and serde_json for the names), on random profiles
//! whose names are as awkward as names can be.
#![allow(clippy::unwrap_used)]

use data::names::Names;
use data::splitmix::Rng;
use kvtrial_jobs::fans::{JsonNames, Merger, decode};

/// Names of one to 20 characters from an alphabet in which almost all end alike.
fn names(rng: &mut Rng, count: usize) -> Vec<String> {
    let pieces = ["a", "b", "\"", "\\", ":", ",", "}", "{", " ", "ä", "\u{1f37a}", "\":1,\"", "same-ending", "0"];
    let mut all = std::collections::BTreeSet::new();
    while all.len() < count {
        let pieces: String = (0..=rng.below(4)).map(|_| pieces[rng.below(pieces.len() as u64) as usize]).collect();
        all.insert(pieces);
    }
    all.into_iter().collect()
}

/// The record as any program would write it.
fn plain(fans: u32, partners: &[(u32, u32)], names: &[String]) -> String {
    let field =
        |(page, count): &(u32, u32)| format!("{}:{count}", serde_json::to_string(&names[*page as usize]).unwrap());
    let fields: Vec<String> = partners.iter().map(field).collect();
    format!("{{\"fans\":{fans},\"with\":{{{}}}}}", fields.join(","))
}

#[test]
fn merged_records_are_byte_for_byte_those_of_the_plain_way() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let count = 2 + rng.below(300) as usize;
        let all = names(&mut rng, count);
        let mut interned = Names::default();
        all.iter().for_each(|name| assert!(interned.intern(name.as_bytes()).is_some()));
        let json = JsonNames::new(&interned);
        let page = rng.below(count as u64) as u32;
        let (mut merger, mut record, mut out) = (Merger::default(), None::<Vec<u8>>, Vec::new());
        let mut partners: Vec<(u32, u32)> = Vec::new();
        for fans in 1..=120 {
            let mut list = vec![page];
            for _ in 0..rng.below(20) {
                let other = rng.below(count as u64) as u32;
                if !list.contains(&other) {
                    list.insert(rng.below(list.len() as u64 + 1) as usize, other);
                }
            }
            for &other in list.iter().filter(|&&other| other != page) {
                match partners.iter_mut().find(|(known, _)| *known == other) {
                    Some((_, count)) => *count += 1,
                    None => partners.push((other, 1)),
                }
            }
            assert_eq!(merger.merge(&json, page, &list, record.as_deref(), &mut out), Ok(fans));
            assert_eq!(String::from_utf8_lossy(&out), plain(fans, &partners, &all), "seed {seed}");
            let mut decoded = Vec::new();
            let names_of = |id: u32| json.name(id);
            assert_eq!(decode(&out, |name, count| decoded.push((name.to_vec(), count))), Ok(fans));
            let expected: Vec<_> = partners.iter().map(|&(id, count)| (names_of(id).to_vec(), count)).collect();
            assert_eq!(decoded, expected);
            record = Some(out.clone());
        }
    }
}

#[test]
fn no_bytes_whatever_make_the_decoder_or_the_merger_panic() {
    let mut rng = Rng::new(7);
    let mut interned = Names::default();
    ["p", "q", "a\"b"].iter().for_each(|name| assert!(interned.intern(name.as_bytes()).is_some()));
    let json = JsonNames::new(&interned);
    let sound = br#"{"fans":12,"with":{"q":10,"a\"b":2,"unknown":4294967295}}"#;
    let (mut merger, mut out) = (Merger::default(), Vec::new());
    for _ in 0..200_000 {
        let mut bytes = sound.to_vec();
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => bytes[at] = b"\"\\:,{}0a"[rng.below(8) as usize],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"\"\\:,{}9a"[rng.below(8) as usize]),
            }
        }
        let _ = decode(&bytes, |_, _| {});
        let _ = merger.merge(&json, 0, &[0, 1, 2], Some(&bytes), &mut out);
    }
}
