//! Drivers that are cargo features. A store is listed in every build; without its driver it names the feature that adds it.

/// Returns the [`store::Driver`] of a [`store::StoreInfo`]: `driver!("redb")`.
#[macro_export]
macro_rules! driver {
    ($feature:tt) => {
        Some(store::Driver { feature: $feature, built: cfg!(feature = $feature) })
    };
}

/// Returns a function of a module that is only there with its feature: `built!("redb", engine::open)` opens or connects, `built!("redb", probe
/// engine::probe)` looks for the store, `built!("etcd", with members, joining::join)` lets a node join. Without the feature the error names it.
#[macro_export]
macro_rules! built {
    ($feature:tt, probe $function:path) => {{
        #[cfg(feature = $feature)]
        {
            $function
        }
        #[cfg(not(feature = $feature))]
        {
            || store::Availability::NotBuilt($feature)
        }
    }};
    ($feature:tt, with members, $function:path) => {{
        #[cfg(feature = $feature)]
        {
            $function
        }
        #[cfg(not(feature = $feature))]
        {
            |spec, _, _| Err(store::StoreError::NotBuilt { store: spec.name.clone(), feature: $feature })
        }
    }};
    ($feature:tt, $function:path) => {{
        #[cfg(feature = $feature)]
        {
            $function
        }
        #[cfg(not(feature = $feature))]
        {
            |spec, _| Err(store::StoreError::NotBuilt { store: spec.name.clone(), feature: $feature })
        }
    }};
}
