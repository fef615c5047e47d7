//! What limits one study on many machines: figures measured on this machine, and what follows from them for up to 10,000 workers.
//!
//! `cargo run --release -p kvtrial-runner --example scale` prints the tables. What is measured differs from machine to machine; what is simulated
//! is the same for the same measured figures, as its random numbers are seeded.

mod cost;
mod loss;
mod start;
mod ticks;

fn main() {
    let tick = ticks::measure();
    println!("## What a coordinator hears\n\n{}", ticks::table(&tick));
    println!("## The merging of histograms\n\n{}", ticks::merging(&tick));
    let late = start::lateness_ns();
    println!("## The spread of starts\n\n{}", start::table(&late));
    println!("## Lost workers\n\n{}", loss::table());
    println!("## A trillion operations per day\n\n{}", cost::table());
}
