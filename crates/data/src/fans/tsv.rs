//! `profile \t page page ...`: pages separated by spaces.

use super::FanSet;
use crate::{DataError, Spot};

/// Reads one line into the set.
pub(super) fn profile(set: &mut FanSet, number: u64, line: &str) -> Result<(), DataError> {
    let spot = |byte: usize| Spot::of(number, line.as_bytes(), byte);
    let Some((profile, pages)) = line.split_once('\t') else {
        return Err(set.error(
            spot(line.len()),
            "no tab after the profile",
            "write the profile, one tab, and its pages separated by spaces",
        ));
    };
    if let Some(second) = pages.find('\t') {
        return Err(set.error(
            spot(profile.len() + 1 + second),
            "a second tab in the line",
            "separate pages by spaces; one tab follows the profile",
        ));
    }
    let start = profile.len() + 1;
    let mut at = start;
    for page in pages.split(' ') {
        if !page.is_empty() {
            set.mention(page.as_bytes(), || spot(at))?;
        }
        at += page.len() + 1;
    }
    set.end_profile();
    Ok(())
}
