//! mysql.

use store::StoreInfo;

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[];
