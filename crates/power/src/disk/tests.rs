//! What a cut leaves of writes before and after a flush, over many seeds.

use super::Disk;
use crate::image::{Image, SECTOR_BYTES};
use std::collections::BTreeSet;
use study::{DiskKind, KeptSectors};

const SECTOR: u64 = SECTOR_BYTES as u64;

fn disk(kind: DiskKind) -> Disk {
    Disk::new(kind, Image::new(1 << 20))
}

/// The first byte of each of the first sectors.
fn firsts(image: &Image, sectors: u64) -> Vec<u8> {
    (0..sectors).map(|at| image.read(at * SECTOR, 1)[0]).collect()
}

fn sector(of: u8) -> Vec<u8> {
    vec![of; SECTOR_BYTES]
}

#[test]
fn what_was_flushed_is_there_whatever_the_seed_and_the_disk_continues() {
    let mut disk = disk(DiskKind::Honest);
    disk.write(0, &[sector(1), sector(1)].concat());
    disk.flush();
    disk.write(SECTOR, &[sector(2), sector(2), sector(2)].concat());
    let mut seen = BTreeSet::new();
    for seed in 0..500 {
        let (image, made) = disk.cut(seed);
        let left = firsts(&image, 4);
        assert_eq!(left[0], 1);
        assert!([1, 2].contains(&left[1]) && [0, 2].contains(&left[2]) && [0, 2].contains(&left[3]));
        let kept = left.iter().filter(|first| **first == 2).count() as u64;
        assert_eq!((made.unflushed_sectors, made.kept_sectors, made.flushes), (3, kept, 1));
        let says = match made.kept {
            KeptSectors::Nothing => kept == 0,
            KeptSectors::All => kept == 3,
            KeptSectors::Some => true,
        };
        assert!(says, "{made:?}");
        assert_eq!(firsts(&disk.cut(seed).0, 4), left, "the same seed leaves the same");
        seen.insert(left);
    }
    assert_eq!(seen.len(), 8, "every subset of the three sectors: {seen:?}");
    assert_eq!(firsts(disk.image(), 4), [1, 2, 2, 2]);
    disk.flush();
    assert_eq!(firsts(&disk.cut(7).0, 4), [1, 2, 2, 2]);
}

#[test]
fn an_older_write_never_replaces_a_newer_one_of_the_same_sector() {
    let mut disk = disk(DiskKind::Honest);
    disk.write(0, &sector(1));
    disk.write(0, &sector(2));
    let left: Vec<u8> = (0..200).map(|seed| firsts(&disk.cut(seed).0, 1)[0]).collect();
    for of in [0, 1, 2] {
        assert!(left.contains(&of), "{of} in {left:?}");
    }
    disk.flush();
    assert!((0..200).all(|seed| firsts(&disk.cut(seed).0, 1) == [2]));
}

#[test]
fn a_disk_that_lies_leaves_an_older_state_in_the_order_of_its_flushes() {
    let mut disk = disk(DiskKind::Lies);
    for (at, of) in (1..=4).enumerate() {
        disk.write(at as u64 * SECTOR, &sector(of));
        disk.flush();
    }
    let mut lengths = BTreeSet::new();
    for seed in 0..200 {
        let left = firsts(&disk.cut(seed).0, 4);
        let whole = left.iter().take_while(|first| **first > 0).count();
        assert!(left[whole..].iter().all(|first| *first == 0), "a later flush without an earlier one: {left:?}");
        lengths.insert(whole);
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_torn_write_damages_durable_sectors_beside_it_and_no_others() {
    let mut disk = disk(DiskKind::Tears);
    let all = (0..64).flat_map(|_| sector(1)).collect::<Vec<u8>>();
    disk.write(0, &all);
    disk.flush();
    assert_eq!(disk.cut(1).1.damaged_sectors, 0, "nothing was being written");
    disk.write(32 * SECTOR, &[sector(2), sector(2)].concat());
    let (mut before, mut behind) = (0, 0);
    for seed in 0..200 {
        let (image, made) = disk.cut(seed);
        let is_bad = |at: &u64| image.read(at * SECTOR, SECTOR_BYTES) != sector(1);
        let bad: Vec<u64> = (0..64).filter(|at| !(32..34).contains(at)).filter(is_bad).collect();
        assert_eq!(bad.len() as u64, made.damaged_sectors);
        assert!(!bad.is_empty() && bad.iter().all(|at| (24..42).contains(at)), "{bad:?}");
        before += usize::from(bad[0] < 32);
        behind += usize::from(bad[0] > 33);
    }
    assert!(before > 0 && behind > 0);
}
