//! The values of options, read or refused with an example.

use super::WorkersArgument;
use analysis::{Need, NeedError};
use jobkit::Scale;
use search::{Bound, Objective};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".into()),
    }
}

/// A number of workers, and where they are.
pub(super) fn workers(text: &str) -> Result<WorkersArgument, String> {
    let count = |text: &str| whole(2, 10_000)(text);
    match text.strip_prefix("local:") {
        Some(text) => count(text).map(WorkersArgument::Local),
        None => count(text).map(WorkersArgument::Joining),
    }
    .map_err(|_| "use a number of workers from 2 to 10000, such as 3, or local:4 for processes of this machine".into())
}

/// An address of this machine, with or without a port.
pub(super) fn bind(text: &str) -> Result<(IpAddr, Option<u16>), String> {
    let with_port = text.parse::<SocketAddr>().map(|it| (it.ip(), Some(it.port())));
    with_port
        .or_else(|_| text.parse().map(|ip| (ip, None)))
        .map_err(|_| "use an address of this machine, such as 10.0.0.1 or 10.0.0.1:4222".into())
}

pub(super) fn bound(text: &str) -> Result<Bound, String> {
    text.parse()
}

pub(super) fn need(text: &str) -> Result<Need, String> {
    text.parse().map_err(|error: NeedError| error.problem)
}

pub(super) fn objective(text: &str) -> Result<Objective, String> {
    text.parse()
}

pub(super) fn scale(text: &str) -> Result<Scale, String> {
    Scale::new(text.parse().unwrap_or(f64::NAN))
}

pub(super) fn rate(text: &str) -> Result<f64, String> {
    match data::count::number(text) {
        Some(rate) if rate > 0.0 => Ok(rate),
        _ => Err("use a number of operations per second above 0, such as 1000 or 50k".into()),
    }
}

/// A whole number from `least` to `most`, also as `10k`.
pub(super) fn whole(least: u32, most: u32) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = data::count::whole(text).and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (least..=most).contains(number)).ok_or_else(|| match most {
            u32::MAX => format!("use a whole number from {least}, such as 16 or 10k"),
            most => format!("use a whole number from {least} to {most}, such as 16 or 10k"),
        })
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let seconds_a_unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        _ => return Err("use a time such as 500ms, 10s or 2m".into()),
    };
    match digits.parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1e9 => Ok(Duration::from_secs_f64(number * seconds_a_unit)),
        _ => Err("use a time such as 500ms, 10s or 2m".into()),
    }
}

/// The size of a disk whose power is cut, in bytes.
pub(super) fn disk_size(text: &str) -> Result<u64, String> {
    let least = runner::LEAST_DISK_BYTES;
    let bytes = data::count::whole(text).filter(|bytes| (least..=1 << 40).contains(bytes));
    bytes.ok_or_else(|| format!("use a size from {} MiB to 1024 GiB, such as 512MiB or 8GiB", least >> 20))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{disk_size, duration, key_value, rate, whole};
    use std::time::Duration;

    #[test]
    fn times_rates_and_settings_are_read_or_refused_with_an_example() {
        assert_eq!(duration("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("2m").unwrap(), Duration::from_secs(120));
        assert!(duration("-1s").unwrap_err().contains("10s") && duration("1h").is_err() && duration("s").is_err());
        assert!(rate("0").is_err() && rate("inf").is_err() && rate("1e3").unwrap() == 1000.0);
        assert_eq!((rate("50k"), whole(1, 100_000)("10k")), (Ok(50_000.0), Ok(10_000)));
        assert!(whole(1, 100)("10k").unwrap_err().contains("1 to 100") && whole(1, 9)("0").is_err());
        assert_eq!(disk_size("64MiB"), Ok(64 << 20));
        assert!(["63MiB", "2TiB", "-1"].iter().all(|it| disk_size(it).unwrap_err().contains("512MiB")));
        assert_eq!(key_value("a=b=c").unwrap(), ("a".into(), "b=c".into()));
        assert!(key_value("=x").is_err());
    }
}
