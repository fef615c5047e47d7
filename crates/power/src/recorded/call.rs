//! The calls that change files, or make a change durable.

use libc::seccomp_data;
use std::os::fd::RawFd;

/// What a call is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// To write to a file.
    Write {
        /// The file.
        file: RawFd,
        /// Where; `None`: at its position.
        offset: Option<u64>,
        /// How much; `None`: that is not known before.
        bytes: Option<u64>,
        /// Whether it returns when that is durable.
        is_synced: bool,
    },
    /// To make a file longer or shorter.
    Resize {
        /// The file.
        file: RawFd,
        /// Its size then.
        bytes: u64,
    },
    /// To map a file, so that memory that is written to is the file.
    Map {
        /// The file.
        file: RawFd,
    },
    /// To make a file durable.
    Sync {
        /// The file, or directory.
        file: RawFd,
        /// Whether names are made durable with it in any case.
        with_names: bool,
    },
    /// To make durable what is mapped at an address.
    SyncMapped {
        /// The address.
        address: u64,
    },
    /// To make everything durable.
    SyncAll,
    /// To change names: to make, rename or remove a file or directory.
    Names,
}

/// What becomes of a call when it was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFate {
    /// The kernel carries it out.
    CarriedOut,
    /// It returns at once, as if it had been carried out.
    Returns,
}

/// An argument of a call, and bits of which one must be set for the call to matter.
pub type ArgumentBits = (usize, u32);

const MAKES: u32 = (libc::O_CREAT | libc::O_TRUNC) as u32;

/// The calls, with what must be true of their arguments.
pub fn noted() -> Vec<(libc::c_long, &'static [ArgumentBits])> {
    const ALWAYS: &[ArgumentBits] = &[];
    const MAPS: &[ArgumentBits] = &[(2, libc::PROT_WRITE as u32), (3, libc::MAP_SHARED as u32)];
    const WAITS: &[ArgumentBits] = &[(2, libc::MS_SYNC as u32)];
    const OPENS_AT: &[ArgumentBits] = &[(2, MAKES)];
    let of_any_machine = [
        (libc::SYS_write, ALWAYS),
        (libc::SYS_writev, ALWAYS),
        (libc::SYS_pwrite64, ALWAYS),
        (libc::SYS_pwritev, ALWAYS),
        (libc::SYS_pwritev2, ALWAYS),
        (libc::SYS_ftruncate, ALWAYS),
        (libc::SYS_fallocate, ALWAYS),
        (libc::SYS_sendfile, ALWAYS),
        (libc::SYS_splice, ALWAYS),
        (libc::SYS_copy_file_range, ALWAYS),
        (libc::SYS_mmap, MAPS),
        (libc::SYS_fsync, ALWAYS),
        (libc::SYS_fdatasync, ALWAYS),
        (libc::SYS_msync, WAITS),
        (libc::SYS_sync, ALWAYS),
        (libc::SYS_syncfs, ALWAYS),
        (libc::SYS_openat, OPENS_AT),
        (libc::SYS_openat2, ALWAYS),
        (libc::SYS_renameat, ALWAYS),
        (libc::SYS_renameat2, ALWAYS),
        (libc::SYS_unlinkat, ALWAYS),
        (libc::SYS_mkdirat, ALWAYS),
        (libc::SYS_linkat, ALWAYS),
        (libc::SYS_symlinkat, ALWAYS),
    ];
    #[cfg(target_arch = "x86_64")]
    let of_this = {
        const OPENS: &[ArgumentBits] = &[(1, MAKES)];
        [
            (libc::SYS_open, OPENS),
            (libc::SYS_creat, ALWAYS),
            (libc::SYS_rename, ALWAYS),
            (libc::SYS_unlink, ALWAYS),
            (libc::SYS_mkdir, ALWAYS),
            (libc::SYS_rmdir, ALWAYS),
            (libc::SYS_link, ALWAYS),
            (libc::SYS_symlink, ALWAYS),
        ]
    };
    #[cfg(not(target_arch = "x86_64"))]
    let of_this = [];
    of_any_machine.into_iter().chain(of_this).collect()
}

/// The calls that would write unseen.
pub const REFUSED: [libc::c_long; 2] = [libc::SYS_io_uring_setup, libc::SYS_io_setup];

/// The flags of `pwritev2` with which it returns when that is durable.
const SYNCED: u64 = 0x2 | 0x4;

impl Call {
    /// Returns what a call is about to do that the kernel has reported.
    pub fn of(reported: &seccomp_data) -> Call {
        let argument = |at: usize| reported.args[at];
        let file = |at: usize| argument(at) as RawFd;
        // It may be relative to the end, or to the position: then it is all ones.
        let place = |at: usize| Some(argument(at)).filter(|place| i64::try_from(*place).is_ok());
        let write = |file, offset, bytes| Call::Write { file, offset, bytes, is_synced: false };
        match libc::c_long::from(reported.nr) {
            libc::SYS_write => write(file(0), None, Some(argument(2))),
            libc::SYS_writev => write(file(0), None, None),
            libc::SYS_pwrite64 => write(file(0), place(3), Some(argument(2))),
            libc::SYS_pwritev => write(file(0), place(3), None),
            libc::SYS_pwritev2 => {
                let is_synced = argument(5) & SYNCED != 0;
                Call::Write { file: file(0), offset: place(3), bytes: None, is_synced }
            }
            libc::SYS_ftruncate => Call::Resize { file: file(0), bytes: argument(1) },
            libc::SYS_fallocate => write(file(0), place(2), place(3)),
            libc::SYS_sendfile => write(file(0), Some(0), None),
            libc::SYS_splice | libc::SYS_copy_file_range => write(file(2), Some(0), None),
            libc::SYS_mmap => Call::Map { file: file(4) },
            libc::SYS_fsync => Call::Sync { file: file(0), with_names: true },
            libc::SYS_fdatasync => Call::Sync { file: file(0), with_names: false },
            libc::SYS_msync => Call::SyncMapped { address: argument(0) },
            libc::SYS_sync | libc::SYS_syncfs => Call::SyncAll,
            _ => Call::Names,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, noted};

    fn reported(nr: libc::c_long, args: [u64; 6]) -> libc::seccomp_data {
        libc::seccomp_data { nr: nr as i32, arch: 0, instruction_pointer: 0, args }
    }

    #[test]
    fn a_call_says_where_it_writes_and_how_much() {
        let at = |offset, bytes| Call::Write { file: 5, offset, bytes, is_synced: false };
        assert_eq!(Call::of(&reported(libc::SYS_pwrite64, [5, 0, 100, 4096, 0, 0])), at(Some(4096), Some(100)));
        assert_eq!(Call::of(&reported(libc::SYS_write, [5, 0, 100, 0, 0, 0])), at(None, Some(100)));
        let appended = reported(libc::SYS_pwritev2, [5, 0, 1, u64::MAX, 0, 2]);
        assert_eq!(Call::of(&appended), Call::Write { file: 5, offset: None, bytes: None, is_synced: true });
    }

    #[test]
    fn only_calls_that_change_names_are_taken_for_those() {
        let names = noted().into_iter().filter(|(nr, _)| Call::of(&reported(*nr, [0; 6])) == Call::Names).count();
        let others = 16;
        assert_eq!(noted().len() - names, others);
    }
}
