//! Machine hours of 10^12 operations per day, from what an operation costs a client's processor.

use std::fmt::Write;

const OPERATIONS_PER_DAY: f64 = 1e12;

/// The busiest hour has this many times the mean rate of a day.
const PEAK: f64 = 3.0;

/// Share of a processor that a worker uses at most, so that it is not the client that is measured.
const LOAD: f64 = 0.5;

/// Sockets of one address to one address of a server: the ports that Linux gives clients.
const PORTS: f64 = 28_232.0;

/// Bytes on the wire of a get of 100 bytes over TCP with its reply, 16 in one packet.
const WIRE_BYTES: f64 = 190.0;

/// What a get costs a client's processor, ns: `docs/figures.md`.
const CLIENTS: [(&str, f64); 4] = [
    ("Redis, unix socket or TCP, connections shared, pipelined", 162.0),
    ("Redis, TCP, 50 connections of 16 in flight", 422.0),
    ("Redis Cluster of 3, connections shared", 378.0),
    ("Redis, TCP, one request at a time", 7_083.0),
];

/// Returns what a client of each kind needs.
pub fn table() -> String {
    let mean = OPERATIONS_PER_DAY / 86_400.0;
    let peak = mean * PEAK;
    let mut out = format!(
        "{:.1} M operations per second on average, {:.1} M at {PEAK:.0} times that; clients use {:.0} % of their processors; {:.0} bytes on the wire per get of 100 bytes are \
         {:.1} Gbit/s at the peak.\n\n\
         | client | processor per get | per processor and second | processors at the peak | machine hours of 16 processors per day |\n|---|---|---|---|---|\n",
        mean / 1e6,
        peak / 1e6,
        LOAD * 100.0,
        WIRE_BYTES,
        peak * WIRE_BYTES * 8.0 / 1e9
    );
    for (name, ns) in CLIENTS {
        let per_processor = 1e9 / ns * LOAD;
        let processors = (peak / per_processor).ceil();
        let hours = OPERATIONS_PER_DAY / per_processor / 3600.0 / 16.0;
        _ = writeln!(out, "| {name} | {ns:.0} ns | {:.2} M | {processors:.0} | {hours:.0} |", per_processor / 1e6);
    }
    _ = writeln!(
        out,
        "\nOne address reaches one address of a server by {PORTS:.0} ports: 1,000,000 connections take {:.0} worker addresses per server address.",
        (1e6 / PORTS).ceil()
    );
    out
}
