use super::FileRecord;
use crate::recorded::call::{Call, CallFate};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

/// This thread, and another one that shares its files.
fn with_two_threads(act: impl FnOnce(u32, u32)) {
    // SAFETY: gettid touches no memory.
    let own = || unsafe { libc::gettid() }.unsigned_abs();
    let (said, heard) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            said.send(own()).unwrap();
            let _ = ended.recv();
        });
        act(own(), heard.recv().unwrap());
        drop(end);
    });
}

/// What every cut leaves of the only file.
fn least_left(record: &mut FileRecord) -> usize {
    let place = tempfile::tempdir().unwrap();
    let mut left = |seed: u64, path: &Path| {
        fs::create_dir(path).unwrap();
        record.cut(seed).unwrap().0.write(path).unwrap();
        fs::read(path.join("file")).unwrap().iter().filter(|byte| **byte != 0).count()
    };
    (0..20).map(|seed| left(seed, &place.path().join(seed.to_string()))).min().unwrap()
}

#[test]
fn a_write_that_comes_after_the_sync_of_another_thread_is_durable_with_its_own() {
    let place = tempfile::tempdir().unwrap();
    let mut record = FileRecord::of(place.path()).unwrap();
    let file = File::create(place.path().join("file")).unwrap();
    file.write_all_at(&[1; 512], 0).unwrap();
    let fd = file.as_raw_fd();
    with_two_threads(|one, other| {
        let sync = Call::Sync { file: fd, with_names: true };
        assert_eq!(record.note(one, sync), CallFate::Returns);
        let write = Call::Write { file: fd, offset: Some(512), bytes: Some(512), is_synced: false };
        assert_eq!(record.note(one, write), CallFate::CarriedOut);
        record.note(other, sync);
        file.write_all_at(&[1; 512], 512).unwrap();
        record.note(one, sync);
        assert_eq!(least_left(&mut record), 1024);
    });
}

#[test]
fn threads_that_append_at_the_same_time_have_both_written() {
    let place = tempfile::tempdir().unwrap();
    let mut record = FileRecord::of(place.path()).unwrap();
    let mut file = File::options().create(true).append(true).open(place.path().join("file")).unwrap();
    let fd = file.as_raw_fd();
    with_two_threads(|one, other| {
        let append = Call::Write { file: fd, offset: None, bytes: Some(1000), is_synced: false };
        record.note(one, Call::Sync { file: fd, with_names: true });
        record.note(one, append);
        record.note(other, append);
        file.write_all(&[1; 1000]).unwrap();
        file.write_all(&[1; 1000]).unwrap();
        record.note(other, Call::Sync { file: fd, with_names: true });
        assert_eq!(least_left(&mut record), 2000);
    });
}
