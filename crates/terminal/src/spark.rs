//! A series of figures as one line of bars.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Above this many times the median a figure may be of a burst, which would press all others to the floor.
const BURST: f64 = 3.0;
/// More of the bars than this share are no burst.
const BURST_SHARE: f64 = 0.25;

/// Draws at most `most` bars, the highest figure the full one and nought the lowest; neighbours share a bar (their mean) when there are
/// more figures than bars. Where a few are a burst, the full bar is twice the median, and what is above it is as high.
pub(crate) fn sparkline(figures: &[f64], most: usize) -> String {
    let bars = figures.len().min(most.max(1));
    let means: Vec<f64> = (0..bars)
        .map(|bar| {
            let (from, to) = (bar * figures.len() / bars, (bar + 1) * figures.len() / bars);
            figures[from..to].iter().sum::<f64>() / (to - from) as f64
        })
        .collect();
    let highest = top(&means);
    means.iter().map(|&mean| bar(mean, highest)).collect()
}

fn top(means: &[f64]) -> f64 {
    let highest = means.iter().copied().fold(0.0, f64::max);
    let usual = stats::median(means).unwrap_or_default();
    let above = means.iter().filter(|mean| **mean > 2.0 * usual).count() as f64;
    let is_burst = usual > 0.0 && highest > BURST * usual && above <= BURST_SHARE * means.len() as f64;
    if is_burst { 2.0 * usual } else { highest }
}

fn bar(figure: f64, highest: f64) -> char {
    let share = if highest > 0.0 { figure / highest } else { 0.0 };
    BARS[((share * BARS.len() as f64) as usize).min(BARS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn bars_rise_with_the_figures_and_a_stall_is_seen() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 4.0, 8.0, 0.0, 8.0], 10), "▁▂▃▅█▁█");
        assert_eq!(sparkline(&[], 10), "");
        assert_eq!(sparkline(&[0.0, 0.0], 10), "▁▁");
    }

    #[test]
    fn a_burst_does_not_press_the_usual_rate_to_the_floor() {
        let mut rates = [100.0; 20];
        (rates[9], rates[10]) = (0.0, 2_800.0);
        assert_eq!(sparkline(&rates, 20), "▅▅▅▅▅▅▅▅▅▁█▅▅▅▅▅▅▅▅▅");
        // Half of it is a rate of its own.
        assert_eq!(sparkline(&[1.0, 1.0, 8.0, 8.0], 4), "▂▂██");
    }

    #[test]
    fn a_long_series_shares_bars() {
        assert_eq!(sparkline(&[8.0, 8.0, 0.0, 0.0, 8.0, 8.0], 3), "█▁█");
        assert_eq!(sparkline(&[1.0; 1000], 40).chars().count(), 40);
    }
}
