//! The list of the adapters of a crate: adding a store is one file and one line in that list.

/// Declares the modules of adapters and lists their stores.
#[macro_export]
macro_rules! adapters {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        /// Returns every store of every adapter of this crate, in the order `kvtrial stores` shows them.
        pub fn all() -> impl Iterator<Item = &'static store::StoreInfo> {
            [$($name::STORES),*].into_iter().flatten()
        }
    };
}

/// Names the adapters whose programs `kvtrial fetch-store` gets.
#[macro_export]
macro_rules! bundles {
    ($($name:ident),* $(,)?) => {
        /// Returns the programs that `kvtrial fetch-store` gets for stores of this crate.
        pub fn bundles() -> impl Iterator<Item = &'static store::Bundle> {
            [$(&$name::BUNDLE),*].into_iter()
        }
    };
}
