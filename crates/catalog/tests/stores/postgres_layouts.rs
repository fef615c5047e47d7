//! PostgreSQL with values in an hstore, and with values in a jsonb document.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used)]

/// The whole suite on one layout, and what only documents have.
macro_rules! on_layout {
    ($layout:ident) => {
        mod $layout {
            use crate::common;
            use std::sync::OnceLock;
            use testkit::Rig;

            fn rig() -> &'static Rig {
                static RIG: OnceLock<Rig> = OnceLock::new();
                Rig::shared(concat!("postgres-unix,durability=none,layout=", stringify!($layout)), &RIG)
            }

            crate::suite!();

            #[test]
            fn documents_are_counted_and_summed_in_the_server() {
                // A server of its own: compaction locks the table.
                common::reduces(&Rig::start(concat!("postgres-unix,durability=none,layout=", stringify!($layout))));
            }

            #[test]
            fn the_layout_is_said_and_read_back() {
                let config = rig().store().facts().unwrap().config;
                assert_eq!(config["layout"], stringify!($layout));
            }
        }
    };
}

on_layout!(hstore);
on_layout!(jsonb);

#[test]
fn a_layout_there_is_not_is_answered_with_those_there_are() {
    let spec: study::Spec = "postgres,layout=xml".parse().unwrap();
    let error = layers::check(testkit::rig::info("postgres"), &spec).unwrap_err().to_string();
    assert!(error.contains("table, hstore, jsonb"), "{error}");
}
