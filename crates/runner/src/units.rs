//! What a rate of units is in operations, said before anything is run: a script's unit may have thousands.

use engine::Arrivals;

/// Returns the sentence, where units of several operations are due at a rate. Finds out only then how many a unit has.
pub(crate) fn sentence(arrivals: Arrivals, unit_operations: impl FnOnce() -> Option<u64>) -> Option<String> {
    let units_per_s = match arrivals {
        Arrivals::Closed | Arrivals::Recorded => return None,
        Arrivals::Fixed { ops_per_s } | Arrivals::Poisson { ops_per_s } => ops_per_s,
    };
    let operations = unit_operations().filter(|operations| *operations > 1)?;
    let per_s = operations as f64 * units_per_s;
    Some(format!(
        "a unit is {} operations: {} units per second are {} operations per second",
        grouped(operations as f64),
        grouped(units_per_s),
        grouped(per_s)
    ))
}

/// `5,000,000`; below ten with two decimals, where there are any.
fn grouped(number: f64) -> String {
    if number < 10.0 && number.fract() != 0.0 {
        return format!("{number:.2}");
    }
    study::whole(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::sentence;
    use engine::Arrivals;

    #[test]
    fn a_rate_of_units_is_said_in_operations_where_a_unit_has_several() {
        let rate = Arrivals::Fixed { ops_per_s: 1000.0 };
        let said = "a unit is 5,000 operations: 1,000 units per second are 5,000,000 operations per second";
        assert_eq!(sentence(rate, || Some(5000)).as_deref(), Some(said));
        let said = "a unit is 3 operations: 0.50 units per second are 1.50 operations per second";
        assert_eq!(sentence(Arrivals::Poisson { ops_per_s: 0.5 }, || Some(3)).as_deref(), Some(said));
        assert_eq!(sentence(rate, || Some(1)), None);
        assert_eq!(sentence(rate, || None), None);
        assert_eq!(sentence(Arrivals::Closed, || unreachable!()), None);
    }
}
