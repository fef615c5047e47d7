//! What adapters of several crates stand on: the lists of adapters, drivers that are cargo features, Java, MariaDB and npm, base64, sets of
//! ids, and the fuzzing of codecs.

pub mod base64;
pub mod bit_sets;
mod driver;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod id_index;
pub mod jvm;
mod list;
pub mod mariadb;
pub mod npm;
