//! Figures as users write them: a number and a unit.

use crate::Unit;

/// Reads `2ms`, `50k`, `1GiB` or `0.1%`, in this unit.
///
/// # Errors
/// What is wrong with it, with an example.
pub(crate) fn amount(text: &str, unit: Unit) -> Result<f64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/').trim_end();
    let (factors, example): (&[(&str, f64)], &str) = match unit {
        Unit::Seconds => (&[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)], "1.5s"),
        Unit::Nanoseconds => (&[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)], "2ms"),
        Unit::Share => (&[("%", 0.01)], "0.1%"),
        Unit::PerSecond => (&[("", 1.0), ("/s", 1.0), ("k", 1e3), ("k/s", 1e3), ("M", 1e6), ("M/s", 1e6)], "50k"),
        Unit::Bytes => (
            &[
                ("B", 1.0),
                ("kB", 1e3),
                ("MB", 1e6),
                ("GB", 1e9),
                ("KiB", 1024.0),
                ("MiB", 1048576.0),
                ("GiB", 1073741824.0),
            ],
            "64MiB",
        ),
    };
    let suffix = text[digits.len()..].trim();
    let known = || factors.iter().map(|(unit, _)| *unit).filter(|unit| !unit.is_empty()).collect::<Vec<_>>().join(", ");
    let number: f64 =
        digits.parse().map_err(|_| format!("'{text}' is not a bound; write a number and a unit, such as {example}"))?;
    let Some((_, factor)) = factors.iter().find(|(unit, _)| *unit == suffix) else {
        return Err(format!("'{text}' needs one of the units {}, such as {example}", known()));
    };
    if number.is_finite() && number > 0.0 {
        Ok(number * factor)
    } else {
        Err(format!("'{text}': use a bound above 0, such as {example}"))
    }
}

/// Reads the number of `0.1%`, without its sign.
///
/// # Errors
/// What is wrong with it, with an example.
pub(crate) fn share(percent: &str) -> Result<f64, String> {
    match percent.parse::<f64>() {
        Ok(number) if (0.0..100.0).contains(&number) => Ok(number / 100.0),
        _ => Err(format!("'{percent}%' is not a share; write one from 0% to below 100%, such as 0.1%")),
    }
}
