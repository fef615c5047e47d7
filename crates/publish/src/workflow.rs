//! The workflow of a repository of studies.

/// Where it lies in a repository.
pub const WORKFLOW_PATH: &str = ".github/workflows/studies.yml";

/// The workflow: for each pull request every study is checked, those without a mark are made again, and the site is built.
pub const WORKFLOW: &str = include_str!("../assets/studies.yml");
