//! Requests to services of AWS, and to what speaks their protocols: each is signed with the secret of a key (Signature Version 4), which
//! itself never goes over the wire.

#[cfg(feature = "aws")]
mod service;
#[cfg(feature = "aws")]
mod signature;

use store::OptionInfo;
use store::tls::{CA, TLS};

#[cfg(feature = "aws")]
pub(crate) use service::{Service, Signed, shown};

/// The option that names the region.
pub(crate) const REGION: OptionInfo = OptionInfo::text("region", "region that requests are signed for")
    .otherwise("the one in the host's name, else us-east-1");

/// The options of every store behind signed requests.
pub(crate) const OPTIONS: [OptionInfo; 3] = [REGION, TLS, CA];
