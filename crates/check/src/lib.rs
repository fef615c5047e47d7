//! Is this store, with this client, correct?
