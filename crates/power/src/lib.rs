//! A disk of kvtrial's own, whose power can be cut.
//!
//! The disk is one file of a FUSE file system, below a loop device and ext4. Its state at the last flush is kept apart from what was written
//! since; a flush of the loop device makes all that durable. A cut takes the durable state, and of the rest what its seed chooses: nothing, all, or
//! some sectors, in any order. The image made so is a disk again, mounted where the first one was.
//!
//! [`serve`] is the disk: a process of its own, because one that waits for a disk it serves itself can never be ended. [`PowerDisk`] is its handle.
//! Where no disk can be mounted, the file calls of the store's processes are recorded instead, which shows less ([`DiskKind::Recorded`](study::DiskKind)).
//!
//! Everything is in memory, so that the directory of the mounts may be on any file system. The process ends with the one that started it,
//! and unmounts everything before; the loop device goes with its mount.
//!
//! What never lives here: a store, starting or killing one, when the cut comes (runner), what was lost (crash).

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod ability;
mod client;
mod disk;
mod draws;
mod file_system;
mod halting;
mod image;
mod message;
mod mounts;
mod recorded;
mod server;

pub use ability::{DISK_BYTES, LEAST_DISK_BYTES, missing};
pub use client::PowerDisk;
pub use disk::Disk;
pub use image::{Image, SECTOR_BYTES};
pub use message::TakenCut;
pub use recorded::{enter, hold, is_recorded};
pub use server::serve;
