//! Figures as people read them: three significant digits and a unit that fits.

pub use study::whole;

/// Writes a time in seconds: `412 ms`, `1.93 s`, `309 s`, `16 min 40 s`, `3 h 20 min`; of a percentile that failed operations did not let a
/// trial reach: `not reached`.
pub fn duration(seconds: f64) -> String {
    if seconds == f64::INFINITY {
        return "not reached".into();
    }
    for (unit, size) in [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)] {
        if seconds / size < 999.5 {
            return format!("{} {unit}", significant(seconds / size));
        }
    }
    minutes(seconds.round() as u64)
}

/// Writes a time as a clock shows it, rounded up and at least a second: `0:03`, `16:40`, `3:20:00`.
pub fn clock(seconds: f64) -> String {
    let whole_s = seconds.ceil().max(1.0) as u64;
    match whole_s / 3600 {
        0 => format!("{}:{:02}", whole_s / 60, whole_s % 60),
        hours => format!("{hours}:{:02}:{:02}", whole_s / 60 % 60, whole_s % 60),
    }
}

fn minutes(whole_s: u64) -> String {
    match whole_s {
        0..7200 => format!("{} min {:02} s", whole_s / 60, whole_s % 60),
        _ => format!("{} h {:02} min", whole_s / 3600, whole_s / 60 % 60),
    }
}

/// Writes a count or a rate: `950`, `50.8k`, `1.25M`.
pub fn count(number: f64) -> String {
    for (unit, size) in [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)] {
        if number / size < 999.5 {
            return format!("{}{unit}", significant(number / size));
        }
    }
    format!("{number:.1e}")
}

/// Writes a size: `512 B`, `1 KiB`, `64 MiB`; exact where it is a whole number of its unit.
pub fn bytes(size: u64) -> String {
    for (unit, shift) in [("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if size >= 1 << shift {
            let whole = size >> shift;
            return match size & ((1 << shift) - 1) {
                0 => format!("{whole} {unit}"),
                _ => format!("{} {unit}", significant(size as f64 / (1u64 << shift) as f64)),
            };
        }
    }
    format!("{size} B")
}

/// Writes a ratio: `x1.93`, `x45.7`, `x214`.
pub fn ratio(ratio: f64) -> String {
    match ratio {
        0.0..0.995 => format!("x{ratio:.2}"),
        _ => format!("x{}", if ratio < 9995.0 { significant(ratio) } else { count(ratio) }),
    }
}

/// Writes a share in percent, of however few: `2.1 %`, `0.004 %`, `0 %`.
pub fn share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0 %".into(),
        9.95.. => format!("{percent:.0} %"),
        0.095.. => format!("{percent:.1} %"),
        _ => format!("{percent:.*} %", (-percent.log10()).ceil() as usize),
    }
}

/// Three significant digits of a number below 10,000.
fn significant(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        0.0..9.995 => format!("{number:.2}"),
        9.995..99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, clock, count, duration, ratio, share, whole};

    #[test]
    fn units_change_where_the_rounded_figure_does() {
        for (seconds, text) in [
            (0.0, "0 ns"),
            (1.5e-9, "1.50 ns"),
            (999.6e-9, "1.00 µs"),
            (11.24e-6, "11.2 µs"),
            (999.4e-6, "999 µs"),
            (999.6e-6, "1.00 ms"),
            (0.41234, "412 ms"),
            (0.99949, "999 ms"),
            (0.9996, "1.00 s"),
            (1.926, "1.93 s"),
            (99.96, "100 s"),
            (309.4, "309 s"),
            (1000.0, "16 min 40 s"),
            (12_000.0, "3 h 20 min"),
            (f64::INFINITY, "not reached"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn a_share_of_some_is_never_shown_as_none() {
        let shares = [0.0, 0.0209, 0.5, 0.001, 0.000_04, 0.000_000_2].map(share);
        assert_eq!(shares, ["0 %", "2.1 %", "50 %", "0.1 %", "0.004 %", "0.00002 %"]);
    }

    #[test]
    fn the_clock_never_shows_nought() {
        assert_eq!([clock(0.0), clock(2.1), clock(61.0), clock(12_000.0)], ["0:01", "0:03", "1:01", "3:20:00"]);
    }

    #[test]
    fn counts_sizes_and_ratios_have_three_digits() {
        assert_eq!([count(0.0), count(950.0), count(50_812.0), count(1_254_000.0)], ["0", "950", "50.8k", "1.25M"]);
        assert_eq!(count(999_600.0), "1.00M");
        assert_eq!([whole(0), whole(999), whole(14_727), whole(1_000_000)], ["0", "999", "14,727", "1,000,000"]);
        assert_eq!([count(2.5e9), count(2e12)], ["2.50G", "2.0e12"]);
        assert_eq!([bytes(250), bytes(1 << 20), bytes(1000), bytes(1536)], ["250 B", "1 MiB", "1000 B", "1.50 KiB"]);
        assert_eq!(
            [ratio(0.214), ratio(1.0), ratio(4.681), ratio(45.71), ratio(214.2)],
            ["x0.21", "x1.00", "x4.68", "x45.7", "x214"]
        );
    }
}
