//! What a phase did can be sent to another process, and shared out over several: nothing is lost on either way.
#![allow(clippy::unwrap_used, missing_docs)]

use engine::{End, Outcome};
use jobkit::Offence;
use kvtrial_engine as engine;
use measure::{Counts, Histograms};
use std::time::Duration;
use study::ReasonKind;

/// Numbers as random as need be (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// From a nanosecond to an hour, every magnitude as likely.
    fn latency_ns(&mut self) -> u64 {
        let magnitude = 1 << self.below(42);
        magnitude + self.below(magnitude)
    }
}

/// Adds one operation's worth of everything that is counted.
fn count(outcome: &mut Outcome, latency_ns: u64, number: u64) {
    let kinds = outcome.histograms.response.len() as u64;
    outcome.counts.merge(&Counts {
        operations: 1,
        hits: number % 2,
        bytes_read: latency_ns % 1000,
        ..Counts::default()
    });
    outcome.histograms.service.record(latency_ns);
    outcome.histograms.send_lag.record(latency_ns / 3);
    outcome.histograms.client_lag.record(latency_ns / 7);
    outcome.histograms.response[(number % kinds) as usize].record(latency_ns);
    if number.is_multiple_of(97) {
        let kind = if number.is_multiple_of(2) { ReasonKind::WrongValue } else { ReasonKind::StaleValue };
        outcome.offences.add(Offence::at_large(kind, "seen".into()));
    }
}

#[test]
fn what_several_did_adds_up_to_what_one_had_recorded_bucket_for_bucket() {
    for seed in 1..=20 {
        let mut random = Random(seed * 0x9e37_79b9);
        let workers = 2 + random.below(5);
        let mut parts: Vec<Outcome> = (0..workers).map(|_| Outcome::default()).collect();
        let mut whole = Outcome::default();
        for number in 0..5_000 {
            let (latency_ns, worker) = (random.latency_ns(), random.below(workers) as usize);
            count(&mut parts[worker], latency_ns, number);
            count(&mut whole, latency_ns, number);
        }
        let mut merged = Outcome::default();
        for part in parts {
            let sent = serde_json::to_vec(&part).unwrap();
            merged.merge(serde_json::from_slice(&sent).unwrap());
        }
        assert_eq!(merged.counts, whole.counts);
        assert_eq!(merged.histograms, whole.histograms, "seed {seed}");
        assert_eq!(merged.histograms.latencies(), whole.histograms.latencies());
        let by_kind = |outcome: &Outcome| {
            let mut found: Vec<(ReasonKind, u64)> =
                outcome.offences.clone().into_reasons().into_iter().map(|reason| (reason.kind, reason.count)).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(by_kind(&merged), by_kind(&whole));
    }
}

#[test]
fn an_outcome_that_was_sent_is_the_one_that_arrives() {
    let mut random = Random(7);
    let mut outcome = Outcome {
        elapsed: Duration::new(3, 141_592_653),
        end: End::Unanswered,
        client_cpu: Duration::from_nanos(1_234_567_891),
        thread_load: 0.625,
        run_delay: Duration::from_nanos(17),
        threads: 4,
        ..Outcome::default()
    };
    for number in 0..1_000 {
        let latency_ns = random.latency_ns();
        count(&mut outcome, latency_ns, number);
    }
    let sent = serde_json::to_vec(&outcome).unwrap();
    assert!(sent.len() < 400_000, "{} bytes", sent.len());
    assert_eq!(serde_json::from_slice::<Outcome>(&sent).unwrap(), outcome);
}

#[test]
fn a_histogram_with_a_bucket_there_is_not_is_refused() {
    let error = serde_json::from_str::<Histograms>(
        r#"{"service":{"counts":"+999999 1","sum_ns":1,"min_ns":1,"max_ns":1},"send_lag":null,"client_lag":null,"response":[]}"#,
    );
    assert!(error.unwrap_err().to_string().contains("no bucket 999999"));
}
