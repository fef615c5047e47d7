//! Workload files in the form of keybench.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::harness;

use common::opened;
use harness::{Memory, Turns, everything, run, run_until};
use kvtrial_script as script;
use store::Capabilities;

/// A workload of our own in that form: its verbs, its context, a cache at the top level that every client has for itself.
const MIX: &str = "
local random, format = math.random, string.format
local kv_get, kv_put = kv.get, kv.put
local buffer, sum = {}, 0
local function key(i) return format('k:%08d', i) end
local function load(ctx)
  assert(ctx.thread == 0 and ctx.threads == 1 and ctx.seed)
  for i = 0, ctx.items - 1 do kv_put(key(i), tostring(i)) end
end
local function run(ctx)
  assert(ctx.iter >= 1 and ctx.users == 7 and ctx.batch == 4 and (ctx.ops == 500 or ctx.ops == 0))
  local roll = random(6)
  local at = random(0, ctx.items - 1)
  if roll == 1 then assert(kv_get(key(at)))
  elseif roll == 2 then kv_put(key(at), tostring(at))
  elseif roll == 3 then
    local rows = kv.range(key(at), key(at + 5), 3)
    assert(#rows <= 3 and (#rows == 0 or (rows[1].key == key(at) and rows[1].val == tostring(at))))
  elseif roll == 4 then
    local seen = 0
    kv.scan(key(0), key(40), function(k, v) seen = seen + 1 return seen == 35 end)
    assert(seen == math.min(35, ctx.items))
  elseif roll == 5 then
    for j = 1, ctx.batch do buffer[j] = key((at + j) % ctx.items) end
    local values = kv.mget(buffer)
    for j = 1, ctx.batch do assert(values[j]) end
  else
    kv.mput({{key = key(at), val = tostring(at)}, {key = key((at + 1) % ctx.items), val = tostring((at + 1) % ctx.items)}})
    assert(kv.mdel({'none', 'nothing'}) == 0 and kv.del('nobody') == false)
  end
end
return { name = 'mix', load = load, run = run, batched = true }
";

#[test]
fn a_workload_runs_as_it_is_and_its_units_are_counted() {
    for (slots, turns) in [(1, Turns::OneByOne), (5, Turns::Random(1)), (64, Turns::Random(2))] {
        let job = opened(MIX, None, &[("units", "500"), ("users", "7"), ("items", "100"), ("batch", "4")]).unwrap();
        let outcome = run(job.as_ref(), &mut Memory::default(), everything(), slots, turns);
        assert_eq!(outcome.reasons, []);
        assert_eq!(outcome.fact("units"), 500);
    }
}

#[test]
fn a_workload_with_seconds_goes_on_until_its_time_is_over() {
    let job = opened(MIX, None, &[("seconds", "1"), ("users", "7"), ("items", "100"), ("batch", "4")]).unwrap();
    let outcome = run_until(job.as_ref(), &mut Memory::default(), everything(), 8, Turns::Random(3), 5000);
    assert_eq!(outcome.reasons, []);
    assert!(outcome.operations[1] >= 5000 && outcome.fact("units").as_u64().unwrap() > 500);
}

#[test]
fn a_store_without_scans_is_refused_with_the_verb_that_needs_them() {
    let job = opened(MIX, None, &[]).unwrap();
    let error = job.suits(&Capabilities::BASIC).unwrap_err().to_string();
    assert!(error.contains("test.lua calls kv.scan, and this store has no scans"), "{error}");
    let plain = opened("return { run = function(ctx) kv.put('a', 'b') kv.mget({'a'}) end }", None, &[]).unwrap();
    assert_eq!(plain.suits(&Capabilities::BASIC).unwrap(), ["get_many"]);
}

#[test]
fn what_a_workload_would_sweep_is_a_parameter() {
    let text = "return { run = function(ctx) kv.put('a' .. ctx.iter, ('v'):rep(ctx.valuebytes)) end, sweep = { param = 'valuebytes', values = {256, 512} } }";
    let info = {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sweep.lua");
        std::fs::write(&path, text).unwrap();
        script::find(&path.display().to_string()).unwrap().unwrap()
    };
    let param = info.params.iter().find(|param| param.name == "valuebytes").unwrap();
    assert_eq!(param.default, "256");
    let job =
        jobs::prepare(info, None, &[("valuebytes".into(), "10".into()), ("units".into(), "20".into())], 1).unwrap();
    let outcome = run(job.as_ref(), &mut Memory::default(), everything(), 2, Turns::OneByOne);
    assert_eq!((outcome.reasons.len(), outcome.logical_bytes), (0, outcome.logical_bytes));
}

/// The published files are not ours to keep: `KVTRIAL_KEYBENCH=DIR cargo test -p kvtrial-script --test script keybench`.
#[test]
fn the_published_workloads_run_unchanged_where_they_are_found() {
    let Ok(directory) = std::env::var("KVTRIAL_KEYBENCH") else {
        eprintln!("left out: KVTRIAL_KEYBENCH does not name the directory workloads of keybench");
        return;
    };
    for name in ["mixed", "cart", "scan", "batch", "valsize"] {
        let path = format!("{directory}/{name}.lua");
        let info = script::find(&path).unwrap().unwrap();
        let set = [("units", "2000"), ("users", "100"), ("items", "500"), ("batch", "8")];
        let set: Vec<(String, String)> = set.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let job = jobs::prepare(info, None, &set, 42).unwrap();
        let outcome = run(job.as_ref(), &mut Memory::default(), everything(), 8, Turns::Random(1));
        assert_eq!(outcome.reasons, [], "{name}");
        assert_eq!(outcome.fact("units"), 2000, "{name}");
        let suits = job.suits(&Capabilities::BASIC).map_err(|error| error.to_string());
        assert_eq!(suits.is_err(), name != "batch", "{name}: {suits:?}");
    }
}

#[test]
fn at_a_rate_units_are_due_and_not_their_operations() {
    use engine::{Arrivals, Settings, run_phase};
    use jobkit::TrialSetup;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;
    use store::Opener;
    let text = "return { run = function(ctx) for i = 1, 10 do kv.put('k' .. ctx.thread .. ':' .. i, 'v') end end }";
    let job = opened(text, None, &[("seconds", "1")]).unwrap();
    let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else { panic!("no ram store") };
    let ram = open(&study::Spec::private("ram"), std::path::Path::new("")).unwrap();
    let trial = job.trial(&TrialSetup::alone(4, ram.capabilities().clone(), 1));
    let settings = Settings {
        clients: 4,
        arrivals: Arrivals::Fixed { ops_per_s: 200.0 },
        duration: Some(Duration::from_secs(1)),
        ..Settings::default()
    };
    let outcome = run_phase(&*ram, trial.as_ref(), 0, &settings, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let units = trial.answer().0.facts["units"].as_u64().unwrap();
    assert!((190..=201).contains(&units), "{units}");
    assert!((units * 10..=units * 10 + 40).contains(&outcome.counts.operations), "{}", outcome.counts.operations);
}
