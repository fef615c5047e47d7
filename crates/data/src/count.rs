//! Numbers as people write them: `1M`, `2.5k`, `64KiB`, `1_000_000`.

/// What the letters behind a number stand for. Counts go by 1000; `KiB`, `MiB` and `GiB` by 1024.
const UNITS: [(&str, f64); 10] = [
    ("", 1.0),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("B", 1.0),
    ("KiB", 1024.0),
    ("kiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

/// Returns the number a text stands for; `None` when it is none.
///
/// ```
/// # use kvtrial_data as data;
/// assert_eq!((data::count::number("1M"), data::count::number("2.5k")), (Some(1e6), Some(2500.0)));
/// assert_eq!((data::count::number("64KiB"), data::count::number("1_000")), (Some(65536.0), Some(1000.0)));
/// assert_eq!((data::count::number("many"), data::count::number("1m")), (None, None));
/// ```
pub fn number(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let (_, unit) = UNITS.into_iter().find(|(name, _)| *name == &text[digits.len()..])?;
    digits.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * unit)
}

/// Returns the same where it is a whole number.
///
/// ```
/// # use kvtrial_data as data;
/// assert_eq!((data::count::whole("10M"), data::count::whole("1.5k")), (Some(10_000_000), Some(1500)));
/// assert_eq!((data::count::whole("18446744073709551615"), data::count::whole("0.5")), (Some(u64::MAX), None));
/// ```
pub fn whole(text: &str) -> Option<u64> {
    // Digits alone are exact to the last one.
    if let Ok(number) = text.replace('_', "").parse() {
        return Some(number);
    }
    number(text).filter(|number| number.fract() == 0.0 && (0.0..9e15).contains(number)).map(|number| number as u64)
}

/// Returns the milliseconds that a time stands for: `500ms`, `2s`, `30m`, `12h`, `7d`; digits alone are seconds. `None`: it is no time, or no whole
/// number of milliseconds.
///
/// ```
/// # use kvtrial_data as data;
/// assert_eq!(["250ms", "1.5s", "30m", "2"].map(data::count::milliseconds), [Some(250), Some(1500), Some(1_800_000), Some(2000)]);
/// assert_eq!(["", "s", "-1s", "0.5ms", "1y", "+1s"].map(data::count::milliseconds), [None; 6]);
/// ```
pub fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ms = match &text[digits.len()..] {
        "ms" => 1.0,
        "s" | "" => 1e3,
        "m" | "min" => 60e3,
        "h" => 3_600e3,
        "d" => 86_400e3,
        _ => return None,
    };
    let written = digits.starts_with(|c: char| c.is_ascii_digit());
    let ms = digits.replace('_', "").parse::<f64>().ok().filter(|_| written)? * unit_ms;
    (ms.fract() == 0.0 && ms < 9e15).then_some(ms as u64)
}

/// Returns a number with letters behind it as digits alone, so that a study says the same however it was written; other texts as they are.
///
/// ```
/// # use kvtrial_data as data;
/// assert_eq!((data::count::plain("1M"), data::count::plain("0.5"), data::count::plain("zipfian")), ("1000000".into(), "0.5".into(), "zipfian".into()));
/// ```
pub fn plain(text: &str) -> String {
    let written = text.ends_with(|c: char| c.is_ascii_alphabetic()) && text.starts_with(|c: char| c.is_ascii_digit());
    match number(text).filter(|_| written) {
        Some(number) => number.to_string(),
        None => text.to_owned(),
    }
}
