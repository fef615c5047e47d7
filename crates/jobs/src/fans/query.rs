//! `kvtrial query fans PAGE`: the pages correlated with one page, most correlated first.

use super::record;
use serde_json::{Value, json};

/// Turns a page's record into `{"page":..,"fans":N,"with":[["q",count],...]}`; ties in byte order of names.
///
/// # Errors
/// When the value is not a record.
pub fn render(key: &[u8], value: &[u8]) -> Result<String, String> {
    let mut partners: Vec<(String, u32)> = Vec::new();
    let mut broken = None;
    let fans = record::decode(value, |name, count| {
        match serde_json::from_slice(&[b"\"", name, b"\""].concat()) {
            Ok(name) => partners.push((name, count)),
            Err(error) => broken = broken.take().or_else(|| Some(error.to_string())),
        };
    })
    .map_err(|error| error.to_string())?;
    if let Some(error) = broken {
        return Err(format!("not a record: a name that is not JSON: {error}"));
    }
    partners.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.as_bytes().cmp(b.0.as_bytes())));
    let page = String::from_utf8_lossy(key);
    let with: Vec<Value> = partners.into_iter().map(|(name, count)| json!([name, count])).collect();
    // Written by hand so that the fields stand in this order whatever map serde_json is built with.
    Ok(format!("{{\"page\":{},\"fans\":{fans},\"with\":{}}}", Value::from(page), Value::from(with)))
}
