//! `kvtrial fit`: what a trace is like, in words and figures, and a plan that makes the like.

use crate::args::FitArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{print, shell_word};
use data::wyrand::WyRand;
use data::zipf::Zipf;
use std::fmt::Write as _;
use study::whole;
use trace::fit::{self, HitCurve, Popularity};
use trace::{Filling, RequestKind, Trace, TraceFormat, TraceOptions};
use words::units;

/// The widest bar of a hit ratio.
const BAR: usize = 40;
/// The smallest value of ycsb.
const LEAST_VALUE_BYTES: u32 = 16;

/// Says what a trace is like.
pub fn fit(arguments: &FitArguments) -> Result<u8, CommandFailure> {
    let format = match (arguments.format.as_str(), TraceFormat::named(&arguments.format)) {
        ("auto", _) => None,
        (_, Some(format)) => Some(format),
        (name, None) => {
            let names = TraceFormat::ALL.map(TraceFormat::name).join(", ");
            return Err(CommandFailure::usage(format!("--format {name} is not possible; use auto, {names}")));
        }
    };
    let most = match arguments.requests.as_deref().map(|text| (text, data::count::whole(text))) {
        None => u64::MAX,
        Some((_, Some(most @ 1..))) => most,
        Some((text, _)) => {
            return Err(CommandFailure::usage(format!("--requests {text} is not possible; use a number, such as 10M")));
        }
    };
    let options = TraceOptions { format, most, seed: arguments.seed };
    let trace = Trace::read(&arguments.file, options).map_err(CommandFailure::usage)?;
    let counts = fit::counts(&trace);
    let popularity = fit::popularity(&counts, arguments.seed);
    // Where the trace sets nothing, what a get misses is put, as the job replay does.
    let filling = if trace.count(RequestKind::Set) == 0 { Filling::OnMiss } else { Filling::Never };
    let curve = HitCurve::of(&trace, filling);
    let mut text = said(&trace, &counts, popularity.as_ref());
    text += &hits(&curve);
    if let Some(out) = &arguments.out {
        let exponent = popularity.as_ref().map_or(0.0, |popularity| popularity.exponent);
        let name = arguments.file.display().to_string();
        std::fs::write(out, plan(&trace, &name, exponent)).map_err(|error| {
            CommandFailure::usage(format!("-o {}: {error}; name a file that can be written", out.display()))
        })?;
        let distance = like(&trace, exponent, arguments.seed).distance(&HitCurve::of(&trace, Filling::OnMiss));
        let out = shell_word(&out.display().to_string());
        _ = writeln!(
            text,
            "\nThe like of it: kvtrial run ycsb --plan {out} --set theta={exponent:.3}\n\
             It draws keys without memory: an LRU of some size hits {:.1} of 100 requests otherwise than on the trace{}.",
            100.0 * distance,
            if distance > 0.05 {
                ", so a cache is better tried with the trace itself (kvtrial run replay)"
            } else {
                ""
            }
        );
    }
    print(&text)?;
    Ok(failure::GOOD)
}

/// What is said of a trace, but for the hits.
fn said(trace: &Trace, counts: &[u32], popularity: Option<&Popularity>) -> String {
    let mix = fit::mix(trace);
    let mut text = format!(
        "{}, {}: {} requests for {} keys, {} of them once\n\n",
        trace.source_name(),
        trace.format().name(),
        whole(trace.ids().len() as u64),
        whole(counts.len() as u64),
        whole(counts.iter().filter(|&&count| count == 1).count() as u64)
    );
    if trace.is_cut_off() {
        text += "The recording was not closed: what was recorded in its last second may be missing.\n";
    }
    let [gets, sets, deletes, touches] = [mix.gets, mix.sets, mix.deletes, mix.touches].map(units::share);
    let touches = if mix.touches > 0.0 { format!(", {touches} touches") } else { String::new() };
    _ = writeln!(text, "Mix          {gets} gets, {sets} sets, {deletes} deletes{touches}");
    _ = writeln!(text, "Popularity   {}", popularity_said(counts, popularity));
    _ = match fit::sizes(trace) {
        None => writeln!(text, "Values       the trace does not say how large they are"),
        Some(sizes) => {
            let [p50, p90, p99, most] =
                [sizes.p50, sizes.p90, sizes.p99, sizes.most].map(|bytes| units::bytes(bytes.into()));
            writeln!(text, "Values       median {p50}, 90 % up to {p90}, 99 % up to {p99}, at most {most}")
        }
    };
    _ = match fit::arrivals(trace) {
        None => writeln!(text, "Arrivals     the trace does not say when requests were made"),
        Some(it) => {
            let bursts = match it.dispersion {
                Some(times) => format!("; the variance per second is {times:.1} times that of a Poisson process"),
                None => String::new(),
            };
            let [rate, most] = [it.per_s, it.most_in_a_second as f64].map(units::count);
            writeln!(
                text,
                "Arrivals     {rate} per second over {}, at most {most} in one{bursts}",
                units::duration(it.span_s)
            )
        }
    };
    _ = match fit::lifetimes(trace) {
        None => writeln!(text, "Lives        no request gives a time to live"),
        Some(it) => {
            let [least, p50, p90, most] =
                [it.least_ms, it.p50_ms, it.p90_ms, it.most_ms].map(|ttl_ms| units::duration(ttl_ms as f64 / 1000.0));
            writeln!(
                text,
                "Lives        {} of the sets give a time to live, and {} gets and touches; {} different ones: from {least}, median {p50}, 90 % up to {p90}, \
                 at most {most}",
                units::share(it.sets),
                whole(it.renewals),
                whole(it.different as u64)
            )
        }
    };
    text += "\nKeys by tenths of the requests\n   PART  DIFFERENT      NEW\n";
    for (part, set) in fit::working_sets(trace).iter().enumerate() {
        let [keys, new] = [set.keys, set.new_keys].map(|count| whole(count as u64));
        _ = writeln!(text, "   {:>4}  {keys:>9}  {new:>7}", part + 1);
    }
    text
}

fn popularity_said(counts: &[u32], popularity: Option<&Popularity>) -> String {
    let Some(it) = popularity else { return "fewer than 20 keys were asked for ten times: no law can be seen".into() };
    let over = format!(
        "over the {} keys that were asked for ten times or more ({} of the requests; the first {} times)",
        whole(it.keys as u64),
        units::share(it.share),
        whole(counts.first().copied().unwrap_or(0).into())
    );
    let [distance, of_samples] = [it.distance, it.of_samples].map(|distance| format!("{:.1} %", 100.0 * distance));
    match it.is_zipf() {
        true => format!(
            "Zipf, exponent {:.3} ({:.3} to {:.3}, 95 %), off by {distance} at most, {over}",
            it.exponent, it.interval[0], it.interval[1]
        ),
        false => format!(
            "not Zipf: the nearest, of exponent {:.3}, is off by {distance}, 19 samples of it by {of_samples} at most; {over}",
            it.exponent
        ),
    }
}

fn hits(curve: &HitCurve) -> String {
    let mut text = "\nHits of an exact LRU, of 100 gets\n       KEYS\n".to_owned();
    for keys in curve.sizes() {
        let share = curve.share(keys);
        let bar = "█".repeat((share * BAR as f64).round() as usize);
        _ = writeln!(text, "   {:>8}  {:>5.1}  {bar}", whole(keys), 100.0 * share);
    }
    for cliff in curve.cliffs() {
        let [[low, high], [below, above]] =
            [cliff.keys.map(whole), cliff.hits.map(|share| format!("{:.1}", 100.0 * share))];
        _ = writeln!(
            text,
            "   A cliff, which no Zipf law has: from {low} to {high} keys the hits rise from {below} to {above}."
        );
    }
    text
}

/// A plan of ycsb that makes the like.
fn plan(trace: &Trace, name: &str, exponent: f64) -> String {
    let mix = fit::mix(trace);
    let bytes = fit::sizes(trace).map_or(100, |sizes| sizes.mean).max(LEAST_VALUE_BYTES);
    format!(
        "# Like {name}, by kvtrial fit; with --set theta={exponent:.3}. Deletes are updates here.\n\
         workload=site.ycsb.workloads.CoreWorkload\nrecordcount={}\noperationcount={}\nrequestdistribution=zipfian\n\
         readproportion={:.4}\nupdateproportion={:.4}\ninsertproportion=0\nscanproportion=0\nfieldcount=1\nfieldlength={bytes}\n",
        trace.keys().len(),
        trace.ids().len(),
        mix.gets,
        mix.sets + mix.deletes
    )
}

/// The hits of what the plan draws.
fn like(trace: &Trace, exponent: f64, seed: u64) -> HitCurve {
    let keys = trace.keys().len();
    let (law, mut rng) = (Zipf::new(keys as u64, exponent), WyRand::new(seed, 0x11CE));
    let drawn = (0..trace.ids().len()).map(|request| (trace.kind(request), law.draw(&mut rng) as u32));
    HitCurve::of_requests(drawn, keys, Filling::OnMiss)
}
