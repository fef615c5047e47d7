//! Values of `--vary KEY=VALUES`: lists (`1,2,8`), geometric ranges (`1..256x2`) and arithmetic ones (`1000..5000+1000`).

/// Most values one key may have.
const MOST: usize = 10_000;
const EXAMPLES: &str = "write a list (1,2,8), a range by factors (1..256x2) or by steps (1000..5000+1000)";

/// Reads the values of one key, in the order given. A range ends with the last value not above its end; without a step it counts
/// by 1. Whole ends give whole values.
///
/// # Errors
/// What is wrong, and how to write it.
pub fn values(text: &str) -> Result<Vec<String>, String> {
    let mut values: Vec<String> = Vec::new();
    for part in text.split(',') {
        let more = match part.split_once("..") {
            _ if part.is_empty() => return Err(format!("a value is missing; {EXAMPLES}")),
            Some((from, to)) if from.starts_with(|first: char| first.is_ascii_digit()) => range(part, from, to)?,
            _ => vec![part.to_owned()],
        };
        for value in more {
            if values.contains(&value) {
                return Err(format!("{value} is named twice; name each value once"));
            }
            values.push(value);
        }
    }
    Ok(values)
}

/// Returns a range as people write it elsewhere, `1-4`, in the form it has here.
pub fn meant_range(value: &str) -> Option<String> {
    let (from, to) = value.split_once(['-', ':'])?;
    let number =
        |text: &str| text.starts_with(|first: char| first.is_ascii_digit()) && data::count::number(text).is_some();
    (number(from) && number(to)).then(|| format!("{from}..{to}"))
}

fn range(whole: &str, from: &str, rest: &str) -> Result<Vec<String>, String> {
    let wrong = |problem: &str| format!("'{whole}' {problem}; {EXAMPLES}");
    let (to, step) = match rest.find(['x', '+']) {
        Some(at) => (&rest[..at], Some((rest.as_bytes()[at], &rest[at + 1..]))),
        None => (rest, None),
    };
    let number =
        |text: &str| data::count::number(text).ok_or_else(|| wrong("has an end or a step that is not a number"));
    let (from, to) = (number(from)?, number(to)?);
    let (by, factor) = match step {
        None => (1.0, false),
        Some((kind, text)) => (number(text)?, kind == b'x'),
    };
    if from > to {
        return Err(wrong("goes down; the smaller end comes first"));
    }
    if factor && (by <= 1.0 || from <= 0.0) {
        return Err(wrong("does not grow: a factor must be above 1 and the first value above 0"));
    }
    if !factor && by <= 0.0 {
        return Err(wrong("does not grow: a step must be above 0"));
    }
    let whole_ends = from.fract() == 0.0 && to.fract() == 0.0 && (factor || by.fract() == 0.0);
    let shown = |value: f64| if whole_ends { format!("{:.0}", value.round()) } else { format!("{}", short(value)) };
    let mut values: Vec<String> = Vec::new();
    // Each value from the start, so that errors of rounding do not add up.
    for count in 0.. {
        let value = if factor { from * by.powi(count) } else { from + by * f64::from(count) };
        if value > to * (1.0 + 1e-12) {
            break;
        }
        let text = shown(value);
        if values.last() != Some(&text) {
            values.push(text); // small factors round to the same whole number at first
        }
        if values.len() > MOST {
            return Err(wrong("has too many values (over 10,000)"));
        }
    }
    Ok(values)
}

/// Rounds to twelve significant digits: sums of decimal steps stay decimal.
fn short(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::values;

    fn read(text: &str) -> String {
        values(text).unwrap().join(" ")
    }

    #[test]
    fn lists_and_ranges_are_read_as_people_write_them() {
        assert_eq!(read("1,2,8"), "1 2 8");
        assert_eq!(read("none,commit"), "none commit");
        assert_eq!(read("1..256x2"), "1 2 4 8 16 32 64 128 256");
        assert_eq!(read("1000..5000+1000"), "1000 2000 3000 4000 5000");
        assert_eq!(read("1..4"), "1 2 3 4");
        assert_eq!(read("1..100x2"), "1 2 4 8 16 32 64");
        assert_eq!(read("1..8x1.5"), "1 2 3 5 8");
        assert_eq!(read("0.1..0.5+0.1"), "0.1 0.2 0.3 0.4 0.5");
        assert_eq!(read("1,10..30+10"), "1 10 20 30");
        assert_eq!(read("/a/../lib.so"), "/a/../lib.so");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_examples() {
        for (text, part) in [
            ("", "missing"),
            ("1,,2", "missing"),
            ("8..1", "goes down"),
            ("1..8x1", "does not grow"),
            ("0..8x2", "does not grow"),
            ("1..8+0", "does not grow"),
            ("1..b", "not a number"),
            ("1..8x", "not a number"),
            ("1..1000000", "too many"),
        ] {
            let error = values(text).unwrap_err();
            assert!(error.contains(part) && error.contains("1..256x2"), "{text}: {error}");
        }
        assert_eq!(values("1,2,1").unwrap_err(), "1 is named twice; name each value once");
    }
}
