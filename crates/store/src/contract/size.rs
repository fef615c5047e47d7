//! Sizes as people write them: `64MiB`, `512k`, `8m`, plain bytes.

/// Returns the number of bytes of a size. `k`, `m` and `g`, with or without `B` or `iB`, count by 1024, as databases have it; `None` when the text is
/// no size.
///
/// ```
/// # use kvtrial_store as store;
/// assert_eq!(store::size::bytes("64MiB"), Some(64 << 20));
/// assert_eq!((store::size::bytes("512k"), store::size::bytes("128MB")), (Some(512 << 10), Some(128 << 20)));
/// assert_eq!((store::size::bytes("123"), store::size::bytes("many")), (Some(123), None));
/// ```
pub fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return None,
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift)
}
