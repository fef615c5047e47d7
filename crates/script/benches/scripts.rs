//! The figures of scripts: `cargo bench -p kvtrial-script`. Ratios within one run, by CPU time; rounds alternate.
//!
//! * get and put by 64 coroutines into `null`, against a bare loop of mlua that resumes them and passes the same strings
//! * the start of a script: parsed, 64 coroutines opened
//! * fans as a script against the job, both on `ram`, in CPU time of the client thread
//!
//! By the clock, on Redis: `cargo bench -p kvtrial-cli --features full --bench jobs -- scripts`.
#![allow(clippy::unwrap_used)]

use engine::{Settings, Timing, run_phase};
use jobkit::{Job, TrialSetup};
use kvtrial_script as script;
use mlua::{Function, Lua, Thread};
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use store::{Opener, Store};
use study::Spec;

const ROUNDS: usize = 7;
const CLIENTS: u32 = 64;
const TURNS: u32 = 20_000;

const SCRIPT: &str = "
local value = ('v'):rep(100)
function run(client)
  for turn = 1, 20000 do
    local key = 'key' .. client.number .. ':' .. turn % 100
    kv.put(key, value)
    kv.get(key)
  end
end";

const BARE: &str = "
local yield = coroutine.yield
local value = ('v'):rep(100)
return function(number)
  for turn = 1, 20000 do
    local key = 'key' .. number .. ':' .. turn % 100
    yield(2, key, value)
    yield(1, key)
  end
end";

fn opened(text: &str) -> Box<dyn Job> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bench.lua");
    std::fs::write(&path, text).unwrap();
    let info = script::find(&path.display().to_string()).unwrap().unwrap();
    jobs::prepare(info, None, &[], 42).unwrap()
}

fn store(name: &str) -> Box<dyn Store> {
    let Some(Opener::Embedded(open)) = catalog::find(name).map(|info| info.opener) else { panic!("no {name}") };
    open(&Spec::private(name), std::path::Path::new("")).unwrap()
}

/// CPU seconds of the client thread in the first timed phase, per operation.
fn cpu_per_operation(job: &dyn Job, store: &dyn Store, clients: u32) -> f64 {
    let trial = job.trial(&TrialSetup::alone(clients, store.capabilities().clone(), 42));
    let settings = Settings { clients, threads: Some(1), timing: Timing::Sampled(64), ..Settings::default() };
    let phase = trial.phases().iter().position(|phase| phase.timed).unwrap();
    let outcome = run_phase(store, trial.as_ref(), phase, &settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(trial.answer().1, []);
    outcome.client_cpu.as_secs_f64() / outcome.counts.operations as f64
}

/// CPU seconds per operation of a loop that only resumes and passes strings.
fn bare() -> f64 {
    let lua = Lua::new();
    let act: Function = lua.load(BARE).eval().unwrap();
    let threads: Vec<Thread> = (0..CLIENTS).map(|_| lua.create_thread(act.clone()).unwrap()).collect();
    let value = "v".repeat(100);
    let begin = measure::thread_cpu();
    let mut operations = 0_u64;
    for (number, thread) in threads.iter().enumerate() {
        let asked: (u32, mlua::String, Option<mlua::String>) = thread.resume(number + 1).unwrap();
        black_box(&asked);
    }
    for _ in 1..TURNS {
        for thread in &threads {
            let asked: (u32, mlua::String) = thread.resume(()).unwrap();
            black_box(asked.1.as_bytes().len());
            let asked: (u32, mlua::String, mlua::String) = thread.resume(value.as_str()).unwrap();
            black_box(asked.1.as_bytes().len() + asked.2.as_bytes().len());
            operations += 2;
        }
    }
    (measure::thread_cpu() - begin).as_secs_f64() / operations as f64
}

fn say(what: &str, unit: &str, mut figures: Vec<f64>, wanted: &str) {
    figures.sort_by(f64::total_cmp);
    let (low, middle, high) = (figures[0], figures[figures.len() / 2], figures[figures.len() - 1]);
    println!("{what}: {middle:.2}{unit} ({low:.2} to {high:.2}, {} rounds; wanted: {wanted})", figures.len());
}

fn main() {
    let (job, null, ram) = (opened(SCRIPT), store("null"), store("ram"));
    let (mut ratios, mut ours_ns, mut bare_ns) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (ours, theirs) = (cpu_per_operation(&*job, &*null, CLIENTS), bare());
        ratios.push(ours / theirs);
        ours_ns.push(ours * 1e9);
        bare_ns.push(theirs * 1e9);
    }
    say("get and put by 64 coroutines into null, against a bare loop of mlua", " times", ratios, "at most 1.5");
    say("  by kvtrial", " ns per operation", ours_ns, "-");
    say("  by the bare loop", " ns per operation", bare_ns, "-");

    let start = |_| {
        let begin = Instant::now();
        let job = opened(SCRIPT);
        let trial = job.trial(&TrialSetup::alone(CLIENTS, null.capabilities().clone(), 1));
        let _worker = trial.worker(0, 0..CLIENTS);
        begin.elapsed().as_secs_f64() * 1e3
    };
    say("start of a script with 64 coroutines", " ms", (0..ROUNDS).map(start).collect(), "at most 20");

    let text = script::EXAMPLES.iter().find(|example| example.name == "fans").unwrap().text;
    let fans = jobs::prepare(jobs::find("fans").unwrap(), None, &[], 42).unwrap();
    let scripted = opened(text);
    let (mut own, mut lua) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        own.push(cpu_per_operation(&*fans, &*ram, 1) * 1e6);
        lua.push(cpu_per_operation(&*scripted, &*store("ram"), 1) * 1e6);
    }
    say("fans, the job, on ram", " us per operation", own, "-");
    say("fans, the script, on ram", " us per operation", lua, "-");
}
