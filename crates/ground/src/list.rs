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

/// Names the programs that `kvtrial fetch-store` gets: first adapters with one version, then the products with several, then adapters of several stores.
#[macro_export]
macro_rules! bundles {
    (one: [$($one:ident),*], several: [$($several:path),*] $(, stores: [$($stores:ident),*])?) => {
        /// Returns the programs that `kvtrial fetch-store` gets for stores of this crate.
        pub fn bundles() -> impl Iterator<Item = &'static store::Bundle> {
            let all: [&'static [store::Bundle]; _] =
                [$(std::slice::from_ref(&$one::BUNDLE),)* $($several.0,)* $($($stores::BUNDLES),*)?];
            all.into_iter().flatten()
        }
    };
}
