//! A study in formats other programs read. Each is a pure function of the study.

pub(crate) mod junit;
pub(crate) mod markdown;
mod openmetrics;

pub use junit::study_junit;
pub use markdown::study_markdown;
pub use openmetrics::study_openmetrics;
