//! Whether the times of a trial may be believed: the client was not what limited it, and the host was quiet.
//!
//! Every threshold is a constant here, or with the [disturbances](analysis::disturbances) of the machine. What is above one degrades the trial, with what was seen and what to do.

use engine::{Arrivals, Settings};
use study::Class;
use study::{Latencies, Noise, Reason, ReasonKind, WorkerUse};

/// Share of a processor from which a client thread is at its limit.
const CLIENT_LOAD_LIMIT: f64 = 0.95;
/// Share of a processor from which the server is as well at the limit of one: then the client is not what to blame.
const SERVER_LOAD_LIMIT: f64 = 0.9;
/// Share of the time a client thread may wait for a processor. Waking up alone takes a few percent.
const RUN_DELAY_LIMIT: f64 = 0.2;
/// Open loop: how late the client itself may send one operation in a hundred before its schedule is doubted.
const LAG_LIMIT_NS: u64 = 1_000_000;
/// Shorter trials say too little about loads, which the kernel counts in ticks of 10 ms.
pub(crate) const NEEDED_S: f64 = 0.25;

/// The circumstances the times of a trial are judged by.
pub(crate) struct Circumstances<'a> {
    pub(crate) class: Class,
    pub(crate) settings: &'a Settings,
    pub(crate) latencies: &'a Latencies,
    pub(crate) noise: Noise,
    /// Time of the timed phases, seconds.
    pub(crate) timed_s: f64,
    /// Largest share of a processor one client thread used.
    pub(crate) client_load: f64,
    /// Largest share of the time one client thread waited for a processor.
    pub(crate) client_run_delay: f64,
    pub(crate) client_threads: u32,
    /// Processors the client may use.
    pub(crate) cpus: u32,
    /// Processor seconds of the private server by the time, where there is one.
    pub(crate) server_load: Option<f64>,
    /// The workers that shared the trial; each has a machine's limit of its own.
    pub(crate) workers: &'a [WorkerUse],
}

/// Returns every reason to doubt the times.
pub(crate) fn doubts(seen: &Circumstances<'_>) -> Vec<Reason> {
    let of_the_client = [saturated(seen), delayed(seen), late(seen)].into_iter().flatten();
    let of_the_client = of_the_client.map(|(kind, example)| Reason { kind, count: 1, example });
    of_the_client.chain(analysis::disturbances(&seen.noise)).collect()
}

/// Share of a trial by which its workers may begin apart.
const SPREAD_LIMIT: f64 = 0.01;

/// Returns the doubt about workers that began so far apart, in a trial whose timed phases took so long.
pub(crate) fn spread(start_spread_s: Option<f64>, timed_s: f64) -> Option<Reason> {
    let spread_s = start_spread_s.filter(|spread_s| *spread_s > timed_s * SPREAD_LIMIT && timed_s > 0.0)?;
    let example = format!(
        "the workers began {:.1} ms apart, {:.1} % of a trial of {timed_s:.1} s; make it longer, or bring them closer together",
        spread_s * 1e3,
        spread_s / timed_s * 100.0
    );
    Some(Reason { kind: ReasonKind::StartSpread, count: 1, example })
}

type Doubt = Option<(ReasonKind, String)>;

/// The client is to be measured against a server only: an embedded store's work is the client's by nature, and a baseline is
/// there to show the client's cost.
fn is_of_a_server(seen: &Circumstances<'_>) -> bool {
    seen.class.has_servers() && seen.timed_s >= NEEDED_S
}

fn saturated(seen: &Circumstances<'_>) -> Doubt {
    let server_has_room = seen.server_load.is_none_or(|load| load < SERVER_LOAD_LIMIT);
    if !is_of_a_server(seen) || seen.client_load <= CLIENT_LOAD_LIMIT || !server_has_room {
        return None;
    }
    if let Some(hottest) = seen.workers.iter().max_by(|a, b| a.client_thread_load.total_cmp(&b.client_thread_load)) {
        let (name, load) = (&hottest.name, percent(hottest.client_thread_load));
        let remedy = match hottest.threads < hottest.cpus {
            true => format!("more --workers, or --threads {} in each", hottest.threads + 1),
            false => "more --workers on other machines".into(),
        };
        let at_limit = seen.workers.iter().filter(|it| it.client_thread_load > CLIENT_LOAD_LIMIT).count();
        let example = format!(
            "a client thread of worker {name} used {load} of its processor ({at_limit} of {} workers are at that limit); try {remedy}",
            seen.workers.len()
        );
        return Some((ReasonKind::ClientSaturated, example));
    }
    let server = seen.server_load.map(|load| format!(" while the server used {}", percent(load))).unwrap_or_default();
    let more = seen.client_threads + 1;
    let remedy = if more > seen.cpus {
        "this machine has no processor left for another client thread".into()
    } else if seen.settings.clients < more {
        format!("try --clients {more} --threads {more}")
    } else {
        format!("try --threads {more}")
    };
    Some((
        ReasonKind::ClientSaturated,
        format!("a client thread used {} of its processor{server}; {remedy}", percent(seen.client_load)),
    ))
}

fn delayed(seen: &Circumstances<'_>) -> Doubt {
    if !is_of_a_server(seen) || seen.client_threads > seen.cpus || seen.client_run_delay <= RUN_DELAY_LIMIT {
        return None;
    }
    let example = format!(
        "a client thread was ready to run but had no processor for {} of the time",
        percent(seen.client_run_delay)
    );
    Some((ReasonKind::ClientDelayed, example))
}

fn late(seen: &Circumstances<'_>) -> Doubt {
    // A send that waited for a free slot waited for the store: that is not in it.
    let lag_ns = seen.latencies.client_lag.p99;
    if seen.settings.arrivals == Arrivals::Closed || lag_ns <= LAG_LIMIT_NS {
        return None;
    }
    let example = format!(
        "1 % of operations were sent {:.1} ms late or later although slots were free; give the client a processor of its own",
        lag_ns as f64 / 1e6
    );
    Some((ReasonKind::ScheduleLag, example))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Circumstances, doubts};
    use engine::{Arrivals, Settings, Timing};
    use std::time::Duration;
    use study::Class;
    use study::{Judged, Latencies, LatencySummary, Noise, ReasonKind};

    const SETTINGS: Settings = Settings {
        clients: 16,
        share: None,
        pipeline: 1,
        threads: None,
        arrivals: Arrivals::Closed,
        duration: None,
        deadline: Duration::from_secs(10),
        outages: engine::Outages::GiveUp,
        timing: Timing::Every,
        seed: 1,
    };

    /// A busy client and an idle server on a quiet machine of four processors.
    fn busy<'a>(settings: &'a Settings, latencies: &'a Latencies) -> Circumstances<'a> {
        Circumstances {
            class: Class::Network,
            settings,
            latencies,
            noise: Noise::default(),
            timed_s: 2.0,
            client_load: 0.99,
            client_run_delay: 0.05,
            client_threads: 1,
            cpus: 4,
            workers: &[],
            server_load: Some(0.6),
        }
    }

    fn kinds(seen: &Circumstances<'_>) -> Vec<ReasonKind> {
        doubts(seen).into_iter().map(|reason| reason.kind).collect()
    }

    #[test]
    fn a_client_at_its_limit_before_an_idle_server_is_saturated_and_told_what_to_try() {
        let latencies = Latencies::default();
        let found = doubts(&busy(&SETTINGS, &latencies));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].kind, ReasonKind::ClientSaturated);
        assert_eq!(
            found[0].example,
            "a client thread used 99 % of its processor while the server used 60 %; try --threads 2"
        );
        let one_client = Settings { clients: 1, ..SETTINGS };
        assert!(doubts(&busy(&one_client, &latencies))[0].example.ends_with("try --clients 2 --threads 2"));
        let small = Circumstances { cpus: 1, ..busy(&SETTINGS, &latencies) };
        assert!(doubts(&small)[0].example.ends_with("no processor left for another client thread"));
        let remote = Circumstances { server_load: None, ..busy(&SETTINGS, &latencies) };
        assert_eq!(doubts(&remote)[0].example, "a client thread used 99 % of its processor; try --threads 2");
    }

    #[test]
    fn a_client_that_keeps_up_or_is_the_store_itself_is_not_saturated() {
        let latencies = Latencies::default();
        let busy = busy(&SETTINGS, &latencies);
        for quiet in [
            Circumstances { client_load: 0.95, ..busy },
            Circumstances { server_load: Some(0.9), ..busy },
            Circumstances { class: Class::Embedded, client_run_delay: 0.9, ..busy },
            Circumstances { class: Class::Baseline, client_run_delay: 0.9, ..busy },
            Circumstances { timed_s: 0.1, client_run_delay: 0.9, ..busy },
        ] {
            assert!(kinds(&quiet).is_empty(), "{:?}", kinds(&quiet));
        }
    }

    #[test]
    fn a_client_that_waits_for_a_processor_is_delayed_unless_it_has_more_threads_than_there_are() {
        let latencies = Latencies::default();
        let waiting = Circumstances { client_load: 0.7, client_run_delay: 0.21, ..busy(&SETTINGS, &latencies) };
        assert_eq!(kinds(&waiting), [ReasonKind::ClientDelayed]);
        assert!(kinds(&Circumstances { client_run_delay: 0.2, ..waiting }).is_empty());
        assert!(kinds(&Circumstances { client_threads: 5, ..waiting }).is_empty());
    }

    #[test]
    fn a_schedule_kept_late_by_the_client_itself_is_doubted() {
        let lag = |client_lag, send_lag| Latencies {
            client_lag: LatencySummary { p99: client_lag, ..LatencySummary::default() },
            send_lag: LatencySummary { p99: send_lag, ..LatencySummary::default() },
            ..Latencies::default()
        };
        let open = Settings { arrivals: Arrivals::Fixed { ops_per_s: 1000.0 }, ..SETTINGS };
        for (settings, latencies, expected) in [
            (&open, lag(1_000_001, 1_000_001), &[ReasonKind::ScheduleLag][..]),
            (&open, lag(1_000_000, 1_000_000), &[]),
            (&open, lag(1_000, 900_000_000), &[]),
            (&SETTINGS, lag(5_000_000, 5_000_000), &[]),
        ] {
            let seen = Circumstances { client_load: 0.5, ..busy(settings, &latencies) };
            assert_eq!(kinds(&seen), expected, "{latencies:?}");
        }
    }

    #[test]
    fn a_noisy_or_throttled_machine_is_named() {
        let latencies = Latencies::default();
        let with = |noise| Circumstances { client_load: 0.5, noise, ..busy(&SETTINGS, &latencies) };
        let quiet = Noise { steal: 0.03, other_load: 0.15, throttled: 0.01, ..Noise::default() };
        assert!(kinds(&with(quiet)).is_empty());
        assert_eq!(kinds(&with(Noise { steal: 0.031, ..quiet })), [ReasonKind::Steal]);
        assert_eq!(kinds(&with(Noise { other_load: 0.16, ..quiet })), [ReasonKind::OtherLoad]);
        assert_eq!(kinds(&with(Noise { throttled: 0.02, ..quiet })), [ReasonKind::Throttled]);
        assert_eq!(kinds(&with(Noise { heat_events: 1, ..quiet })), [ReasonKind::Throttled]);
        // The work of a server on this machine that was not found is in it.
        let own = Noise { other_load: 0.6, judged: Judged::ServerNotFound, ..quiet };
        assert!(kinds(&with(own)).is_empty());
    }
}
