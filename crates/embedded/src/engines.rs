//! Engines that `kvtrial fetch-store NAME` builds when somebody wants them, with the user's own Go or Rust: nothing of them is in kvtrial.
//!
//! Each is a [plugin](crate::plugin) whose source is in this tree, in `engines/LANGUAGE/NAME`, with its versions and sums. Adding one is that source, and
//! its entry here. What an engine does at each level stands at the head of its source.

use crate::plugin::open_library;
use crate::shared::embedded::place;
use std::path::Path;
use store::{
    Availability, Bundle, Capabilities, MadeOf, OpenEmbedded, Opener, OperationKind, Store, StoreError, StoreInfo,
    Toolchain,
};
use study::{Class, Durability, Spec};

/// The name of a library in its bundle's directory.
const LIBRARY: &str = "engine.so";

/// An engine, as it is known before it is built.
struct Engine {
    bundle: Bundle,
    kind: &'static str,
    summary: &'static str,
    install: &'static str,
    durabilities: &'static [Durability],
    max_key_bytes: usize,
    /// The longest value, where the engine itself refuses more.
    max_value_bytes: Option<usize>,
}

/// Makes the bundle of an engine: its sources, and those that all of its language share.
macro_rules! bundle {
    (Go $name:literal $version:literal $product:literal $licence:literal) => {
        Bundle {
            store: $name,
            product: $product,
            version: $version,
            licence: $licence,
            made_of: MadeOf::Engine {
                toolchain: Toolchain::Go,
                sources: &[
                    ("kvtrial.h", include_str!("../include/kvtrial.h")),
                    ("main.go", include_str!("../engines/go/main.go")),
                    ("engine.go", include_str!(concat!("../engines/go/", $name, "/engine.go"))),
                    ("go.mod", include_str!(concat!("../engines/go/", $name, "/go.mod"))),
                    ("go.sum", include_str!(concat!("../engines/go/", $name, "/go.sum"))),
                ],
                sums: include_str!(concat!("../engines/go/", $name, "/go.sum")),
                library: LIBRARY,
            },
        }
    };
    ($cargo:ident $name:literal $version:literal $product:literal $licence:literal) => {
        Bundle {
            store: $name,
            product: $product,
            version: $version,
            licence: $licence,
            made_of: MadeOf::Engine {
                toolchain: Toolchain::$cargo,
                sources: &[
                    ("kvtrial.rs", include_str!("../templates/kvtrial.rs")),
                    ("lib.rs", include_str!("../engines/rust/lib.rs")),
                    ("engine.rs", include_str!(concat!("../engines/rust/", $name, "/engine.rs"))),
                    ("Cargo.toml", include_str!(concat!("../engines/rust/", $name, "/Cargo.toml"))),
                    ("Cargo.lock", include_str!(concat!("../engines/rust/", $name, "/Cargo.lock"))),
                ],
                sums: include_str!(concat!("../engines/rust/", $name, "/Cargo.lock")),
                library: LIBRARY,
            },
        }
    };
}

/// Lists engines as stores and as bundles.
macro_rules! engines {
    ($($engine:ident),*) => {
        /// The stores of this adapter.
        pub static STORES: &[StoreInfo] = &[$($engine.info(
            |_| $engine.capabilities(),
            || $engine.probe(),
            |spec, directory| $engine.open(spec, directory),
        )),*];

        /// The libraries that `kvtrial fetch-store` builds.
        pub(crate) const BUNDLES: &[Bundle] = &[$($engine.bundle),*];
    };
}

engines! { MDBX, SLED, SURREALKV, TIDESDB, SLATEDB, TURSO, BBOLT, PEBBLE, BADGER }

const MDBX: Engine = Engine {
    bundle: bundle!(Cargo "mdbx" "0.13.7" "MDBX" "Apache-2.0"),
    kind: "B+tree",
    summary: "memory-mapped B+tree, from LMDB, one writer",
    install: "kvtrial fetch-store mdbx (built by Rust)",
    durabilities: &[Durability::Os, Durability::Commit],
    max_key_bytes: 2022,
    max_value_bytes: None,
};

const SLED: Engine = Engine {
    bundle: bundle!(Cargo "sled" "0.34.7" "sled" "MIT OR Apache-2.0"),
    kind: "Bw-tree",
    summary: "Bw-tree over a log of pages",
    install: "kvtrial fetch-store sled (built by Rust)",
    // Power cuts take what it has flushed (docs/durability.md): there is neither `commit` nor `second`.
    durabilities: &[Durability::Os, Durability::None],
    max_key_bytes: Capabilities::BASIC.max_key_bytes,
    max_value_bytes: None,
};

const SURREALKV: Engine = Engine {
    bundle: bundle!(Cargo "surrealkv" "1.2.0" "SurrealKV" "Apache-2.0"),
    kind: "LSM",
    summary: "log-structured merge tree of SurrealDB, asynchronous",
    install: "kvtrial fetch-store surrealkv (built by Rust)",
    durabilities: &[Durability::Os, Durability::Commit],
    max_key_bytes: Capabilities::BASIC.max_key_bytes,
    max_value_bytes: None,
};

const TIDESDB: Engine = Engine {
    bundle: bundle!(CargoAndCmake "tidesdb" "10.2.1" "TidesDB" "MPL-2.0"),
    kind: "LSM",
    summary: "log-structured merge tree with transactions, in C",
    install: "kvtrial fetch-store tidesdb (built by Rust and cmake)",
    durabilities: &[Durability::Os, Durability::Commit, Durability::Second, Durability::None],
    max_key_bytes: Capabilities::BASIC.max_key_bytes,
    max_value_bytes: None,
};

const SLATEDB: Engine = Engine {
    bundle: bundle!(Cargo "slatedb" "0.18.0" "SlateDB" "Apache-2.0"),
    kind: "LSM",
    summary: "log-structured merge tree over an object store, here a directory",
    install: "kvtrial fetch-store slatedb (built by Rust)",
    durabilities: &[Durability::Os, Durability::Commit, Durability::Second, Durability::None],
    max_key_bytes: Capabilities::BASIC.max_key_bytes,
    max_value_bytes: None,
};

const TURSO: Engine = Engine {
    bundle: bundle!(Cargo "turso" "0.8.3" "Turso" "MIT"),
    kind: "SQL",
    summary: "SQLite rewritten in Rust, asynchronous, one writer",
    install: "kvtrial fetch-store turso (built by Rust)",
    durabilities: &[Durability::Os, Durability::Commit],
    max_key_bytes: Capabilities::BASIC.max_key_bytes,
    max_value_bytes: None,
};

const BBOLT: Engine = Engine {
    bundle: bundle!(Go "bbolt" "1.5.0" "bbolt" "MIT"),
    kind: "B+tree",
    summary: "memory-mapped B+tree, one writer, in Go",
    install: "kvtrial fetch-store bbolt (built by Go)",
    durabilities: &[Durability::Os, Durability::Commit],
    max_key_bytes: 32_768,
    max_value_bytes: Some((1 << 31) - 2),
};

const PEBBLE: Engine = Engine {
    bundle: bundle!(Go "pebble" "2.1.7" "Pebble" "BSD-3-Clause"),
    kind: "LSM",
    summary: "log-structured merge tree of CockroachDB, in Go",
    install: "kvtrial fetch-store pebble (built by Go)",
    durabilities: &[Durability::Os, Durability::Commit, Durability::None],
    max_key_bytes: Capabilities::BASIC.max_key_bytes,
    max_value_bytes: None,
};

const BADGER: Engine = Engine {
    bundle: bundle!(Go "badger" "4.9.6" "Badger" "Apache-2.0"),
    kind: "LSM",
    summary: "log-structured merge tree, large values apart, in Go",
    install: "kvtrial fetch-store badger (built by Go)",
    durabilities: &[Durability::Os, Durability::Commit],
    max_key_bytes: 65_000,
    max_value_bytes: None,
};

impl Engine {
    const fn info(
        &self,
        declares: fn(&Spec) -> Capabilities,
        probe: fn() -> Availability,
        open: OpenEmbedded,
    ) -> StoreInfo {
        StoreInfo {
            name: self.bundle.store,
            family: self.bundle.store,
            transport: None,
            driver: None,
            class: Class::Embedded,
            kind: self.kind,
            summary: self.summary,
            durabilities: self.durabilities,
            options: &[],
            install: self.install,
            licence: self.bundle.licence,
            declares,
            probe,
            opener: Opener::Embedded(open),
        }
    }

    const fn capabilities(&self) -> Capabilities {
        let basic = Capabilities::BASIC;
        Capabilities {
            native: basic.native.and(&[OperationKind::Append, OperationKind::Scan, OperationKind::PutMany]),
            min_key_bytes: 1,
            max_key_bytes: self.max_key_bytes,
            max_value_bytes: match self.max_value_bytes {
                Some(bytes) => bytes,
                None => basic.max_value_bytes,
            },
            value_limit_is_hard: self.max_value_bytes.is_some(),
            ..basic
        }
    }

    fn probe(&self) -> Availability {
        let Bundle { product, version, .. } = self.bundle;
        match self.bundle.found() {
            Some(_) => Availability::Found(format!("{product} {version}")),
            None => Availability::NotFound(format!("{product} {version}")),
        }
    }

    fn open(&self, spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
        let Bundle { store, product, version, .. } = self.bundle;
        let Some(library) = self.bundle.program() else {
            let what = format!("{product} {version}");
            return Err(StoreError::NotFound { store: store.into(), what, install: self.install.into() });
        };
        let durability = Some(spec.durability.unwrap_or(self.durabilities[0]));
        let spec = Spec { durability, ..spec.clone() };
        let min_key_bytes = self.capabilities().min_key_bytes;
        let limited = |capabilities| Capabilities { min_key_bytes, ..capabilities };
        open_library(store.into(), &library, &spec, &place(directory, store)?, limited)
    }
}
