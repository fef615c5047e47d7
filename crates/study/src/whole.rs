//! Counts as people read them.

/// A count to the last one: `950`, `14,727`.
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let comma = |(at, digit): (usize, char)| {
        let ends_a_group = at > 0 && (digits.len() - at).is_multiple_of(3);
        [ends_a_group.then_some(','), Some(digit)].into_iter().flatten()
    };
    digits.chars().enumerate().flat_map(comma).collect()
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn a_count_has_a_comma_before_every_three_digits() {
        let counts = [0, 999, 1_000, 14_727, 1_000_000, u64::MAX].map(whole);
        assert_eq!(counts, ["0", "999", "1,000", "14,727", "1,000,000", "18,446,744,073,709,551,615"]);
    }
}
