//! Events per second of the job events: every queue with several numbers of threads against one thread that parses and sums, taken by
//! turns. `cargo run --release -p kvtrial-jobs --example events_rate [EVENTS] [ROUNDS]`

use data::events::{EventFormat, EventText};
use kvtrial_jobs::events::pipeline::{PipelinePlan, SideTime, summarize};
use kvtrial_jobs::events::queues;

const THREADS: [(usize, usize); 4] = [(1, 1), (2, 1), (1, 2), (2, 2)];
const BATCHES: [usize; 2] = [64, 256];

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|word| data::count::whole(&word).unwrap_or(0));
    let (events, rounds) = (arguments.next().unwrap_or(2_000_000), arguments.next().unwrap_or(5));
    for (name, format) in [("v1", EventFormat::V1), ("v2", EventFormat::V2)] {
        let text = EventText::generate(format, events, 42);
        let mut plans = vec![PipelinePlan { queue: None, parsers: 1, summarizers: 1, size: 16_384, batch: 1 }];
        for kind in queues::ALL {
            for (parsers, summarizers) in THREADS {
                plans.extend(BATCHES.map(|batch| PipelinePlan {
                    queue: Some(kind),
                    parsers,
                    summarizers,
                    batch,
                    ..plans[0]
                }));
            }
        }
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); plans.len()];
        let mut shares = vec![[0.0; 2]; plans.len()];
        for _ in 0..rounds {
            for ((plan, rates), shares) in plans.iter().zip(&mut rates).zip(&mut shares) {
                let summed = summarize(&text, plan)?;
                rates.push(events as f64 / summed.elapsed.as_secs_f64());
                *shares = [summed.parsers, summed.summarizers].map(|side: SideTime| side.waiting_share());
            }
        }
        let medians = rates.iter_mut().map(|rates| median(rates));
        let mut medians: Vec<(f64, &PipelinePlan, [f64; 2])> =
            medians.zip(&plans).zip(shares).map(|((rate, plan), shares)| (rate, plan, shares)).collect();
        let alone = medians[0].0;
        println!("{name}: one thread {:.2} M events/s", alone / 1e6);
        medians.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (rate, plan, [parsers, summarizers]) in medians.iter().take(12) {
            let queue = plan.queue.map_or("none", |kind| kind.name);
            println!(
                "  {:.2} times: {queue} parsers={} summarizers={} batch={}: {:.2} M events/s, waiting {:.0} % and {:.0} %",
                rate / alone,
                plan.parsers,
                plan.summarizers,
                plan.batch,
                rate / 1e6,
                100.0 * parsers,
                100.0 * summarizers,
            );
        }
    }
    Ok(())
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}
