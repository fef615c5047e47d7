//! The figures of the jobs append, bulk, counts and crud, as ratios to the tool people would use instead:
//! `cargo bench -p kvtrial-cli --features full --bench jobs [-- SECTION...]`.
//!
//! Sections: `generator`, `append`, `append-redis`, `counts`, `crud-memcached`, `crud-postgres`, `crud-mariadb`, `bulk-sqlite`, `scripts`. A section
//! whose tools are missing says so and is left out. The client is pinned to the first processor, servers to the last; rounds alternate.
//! What runs in this process or is said to be per CPU second is judged by CPU time: kvtrial's by that of its client threads in the phase
//! compared, the other tool's by the slope of its whole process's between a short and a long run. Rates of SQL servers are judged by the
//! clock, on the same table, emptied before each side and vacuumed before the other tool reads.
#![allow(clippy::unwrap_used)]

mod lab;

use data::append::{Event, Generator};
use data::docs::{DocSet, IdScheme};
use lab::{cpu_per_operation, free_port, last_cpu, median, ops_per_cpu_s, own_cpu, start, start_redis, study};
use serde_json::Value;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROUNDS: usize = 5;

fn main() {
    lab::run(&[
        ("generator", &[], generator),
        ("append", &["taskset"], append),
        ("append-redis", &["redis-server", "redis-benchmark", "taskset"], append_redis),
        ("counts", &["taskset"], counts),
        ("crud-memcached", &["memcached", "memcaslap", "taskset"], crud_memcached),
        ("crud-postgres", &["psql", "pgbench", "taskset"], crud_postgres),
        ("crud-mariadb", &["mariadb", "sysbench", "taskset"], crud_mariadb),
        ("bulk-sqlite", &["taskset"], bulk_sqlite),
        ("scripts", &["redis-server"], scripts),
    ]);
}

/// Prints the median of the rounds with their range.
fn say(what: &str, figures: Vec<f64>, unit: &str, wanted: &str) {
    let rounds = figures.len();
    let (middle, low, high) = median(figures);
    println!("{what}: {middle:.2}{unit} ({low:.2} to {high:.2}, {rounds} rounds; wanted: {wanted})");
}

/// A run of a job by one thread.
fn job(words: &str) -> String {
    format!("run {words} --no-baselines --overwrite --repeats 1 --warmups 0 --threads 1")
}

/// fans as a script against the job, by the clock, on a private server over a unix socket.
fn scripts(directory: &Path) {
    let file = directory.join("fans.lua");
    let text = script::EXAMPLES.iter().find(|example| example.name == "fans").unwrap().text;
    std::fs::write(&file, text).unwrap();
    let makespan_s = |name: &str| {
        let words = format!("run {name} -s redis-unix --no-baselines --repeats 1 --warmups 0");
        study(&[], &words, directory)["makespan_s"]["value"].as_f64().unwrap()
    };
    let file = file.display().to_string();
    let ratio = |round| {
        let (script, job) = lab::in_turn(round, || makespan_s(&file), || makespan_s("fans"));
        script / job
    };
    say(
        "fans as a script against the job, redis-unix, by the clock",
        (0..ROUNDS).map(ratio).collect(),
        " times",
        "<= 1.3",
    );
}

fn generator(_: &Path) {
    for keys in [10_000_000, 78_000_000] {
        let generator = Generator::new(keys, 42);
        let mut block = [Event::default(); 256];
        let blocks = 20_000;
        let rate = |round: u64| {
            let before = own_cpu();
            for number in 0..blocks {
                generator.fill((round * blocks + number) * 256 % (generator.events() - 256), &mut block);
                std::hint::black_box(&block);
            }
            (blocks * 256) as f64 / (own_cpu() - before) / 1e6
        };
        let rates = (0..ROUNDS as u64).map(rate).collect();
        say(&format!("append events made, {keys} keys"), rates, " M/s per core", ">= 20");
    }
}

/// Appends in this process. The time the kernel takes to give memory is in it.
fn append(directory: &Path) {
    for store in ["ram,map=lines", "ram,shards=4096", "ram,map=hashbrown", "ram,map=griddle", "null"] {
        let mut longest: f64 = 0.0;
        let rate = |_| {
            let words = format!("append -s {store} --data gen:10000000:42 --time-one-in 64 --set verify=sample");
            let cell = study(&[], &job(&words), directory);
            let stalls = cell["stalls"].as_array().map_or(&[][..], Vec::as_slice);
            let durations = stalls.iter().filter_map(|stall| stall["duration_s"].as_f64());
            longest = durations.fold(longest, f64::max);
            ops_per_cpu_s(&cell) / 1e6
        };
        let rates = (0..ROUNDS).map(rate).collect();
        let what = format!("append, 10,000,000 keys in {store}, longest stall {:.1} ms", longest * 1e3);
        say(&what, rates, " M/s per core", ">= 8 in the best, no stall over 10 ms");
    }
}

fn append_redis(directory: &Path) {
    let (_server, socket, _) = start_redis(directory);
    let url = format!("redis-unix://{}", socket.display());
    let operations = 1_065_000_u64; // about as many as the events of 400,000 keys
    let benchmark = |operations: u64| {
        let mut theirs = Command::new("taskset");
        theirs.args(["-c", "0", "redis-benchmark", "-q", "-s", socket.to_str().unwrap(), "-c", "50", "-P", "16"]);
        theirs.args(["-n", &operations.to_string(), "-r", "400000", "APPEND", "k__rand_int__", "0123456789abcdef"]);
        theirs
    };
    let ratio = |round| {
        let words = format!("append -s {url} --data gen:400000:42 --clients 50 --pipeline 16 --set verify=sample");
        let ours = || 1.0 / ops_per_cpu_s(&study(&[], &job(&words), directory));
        let (ours, theirs) = lab::in_turn(round, ours, || cpu_per_operation(operations, benchmark));
        theirs / ours
    };
    let what = "append into Redis per client CPU second against redis-benchmark, unix 50x16";
    say(what, (0..ROUNDS).map(ratio).collect(), "", ">= 1.8");
}

fn counts(directory: &Path) {
    for store in ["ram", "ram,map=lines", "ram,map=hashbrown"] {
        let rate =
            |_| ops_per_cpu_s(&study(&[], &job(&format!("counts -s {store} --time-one-in 64")), directory)) / 1e6;
        say(&format!("counts in {store}"), (0..ROUNDS).map(rate).collect(), " M/s per core", ">= 5");
    }
}

/// A phase of the cell's only trial.
fn phase<'a>(cell: &'a Value, name: &str) -> &'a Value {
    cell["trials"][0]["phases"].as_array().unwrap().iter().find(|phase| phase["name"] == name).unwrap()
}

fn per(phase: &Value, what: &str, time: &str) -> f64 {
    phase[what].as_f64().unwrap() / phase[time].as_f64().unwrap()
}

fn crud_memcached(directory: &Path) {
    let port = free_port();
    let socket = directory.join("none.sock");
    let words = format!("memcached -u root -l 127.0.0.1 -p {port} -U 0 -m 512 -t 1");
    let _server = start(&words.split(' ').collect::<Vec<_>>(), &socket, Some(port));
    let config = directory.join("memcaslap.cnf");
    std::fs::write(&config, "key\n16 16 1\nvalue\n16 16 1\ncmd\n0 0.001\n1 0.999\n").unwrap();
    let operations = 400_000;
    let memcaslap = |operations: u64| {
        let mut theirs = Command::new("taskset");
        // -d 16: gets go out sixteen at a time, as one command of many keys.
        theirs.args("-c 0 memcaslap -T 1 -c 50 -d 16 -w 1k -s".split(' ')).arg(format!("127.0.0.1:{port}"));
        theirs.args(["-x", &operations.to_string(), "-F", config.to_str().unwrap()]);
        theirs
    };
    let ratio = |round| {
        let words = format!("crud -s memcached://127.0.0.1:{port} --clients 50 --pipeline 16 --set rows={operations}");
        let ours = || per(phase(&study(&[], &job(&words), directory), "select"), "client_cpu_s", "operations");
        let (ours, theirs) = lab::in_turn(round, ours, || cpu_per_operation(operations, memcaslap));
        theirs / ours
    };
    let what = "crud select on memcached per client CPU second against memcaslap, TCP 50x16";
    say(what, (0..ROUNDS).map(ratio).collect(), "", ">= 1.5");
}

/// A private server as kvtrial starts it, on the last processor: its socket, its user and the user's password.
struct Private {
    _open: host::OpenStore,
    socket: PathBuf,
    user: String,
    password: String,
}

impl Private {
    /// For kvtrial, as the user's own server.
    fn url(&self, store: &str) -> String {
        format!("{store}://{}:{}@{}", self.user, self.password, self.socket.display())
    }
}

fn private_server(spec: &str, directory: &Path) -> Private {
    // The user the server runs as has to pass through the directory.
    let _ = std::fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o755));
    let spec: study::Spec = spec.parse().unwrap();
    let opening = host::Opening::new(directory).server_cpus(&[last_cpu().parse().unwrap()]);
    let open = opening.open(catalog::find(&spec.name).unwrap(), &spec).unwrap();
    let login = open.endpoint().unwrap();
    let (user, password) = (login.user.clone().unwrap(), login.password.as_ref().unwrap().reveal().to_owned());
    Private { socket: socket_below(directory).unwrap(), user, password, _open: open }
}

fn socket_below(directory: &Path) -> Option<PathBuf> {
    std::fs::read_dir(directory).ok()?.flatten().find_map(|entry| match entry.file_type().ok()? {
        kind if kind.is_dir() => socket_below(&entry.path()),
        kind => kind.is_socket().then(|| entry.path()),
    })
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The number behind a word of a tool's report.
fn number_after(report: &str, word: &str) -> f64 {
    let rest = &report[report.find(word).unwrap_or_else(|| panic!("no '{word}' in: {report}")) + word.len()..];
    let number: String = rest.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.parse().unwrap_or_else(|_| panic!("'{word}' in: {report}"))
}

const SQL_ROWS: u32 = 40_000;
const SQL_CLIENTS: u32 = 16;

/// Selects a second of the job crud on the user's server.
fn selects_per_s(url: &str, directory: &Path) -> f64 {
    let words = format!("crud -s {url} --clients {SQL_CLIENTS} --set rows={SQL_ROWS}");
    per(phase(&study(&[], &job(&words), directory), "select"), "operations", "elapsed_s")
}

/// On an empty table, without what the side before has left: rows that are dead but not yet vacuumed cost the next one time.
fn fresh<T>(empty: &dyn Fn(), side: impl FnOnce() -> T) -> T {
    empty();
    side()
}

fn crud_postgres(directory: &Path) {
    let server = private_server("postgres-unix,durability=none", directory);
    let place = server.socket.parent().unwrap().to_str().unwrap();
    let sql = |text: &str| {
        let mut psql = Command::new("psql");
        psql.env("PGPASSWORD", &server.password).args(["-h", place, "-U", &server.user, "-d", "postgres"]);
        output(psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-c", text]))
    };
    let script = directory.join("select.sql");
    // The parameter takes the column's type, bytea, whose text form is the key itself.
    let select = format!("\\set k random(0, {})\nSELECT v FROM kvtrial.kv WHERE k = :k;\n", SQL_ROWS - 1);
    std::fs::write(&script, select).unwrap();
    let url = server.url("postgres-unix");
    selects_per_s(&url, directory); // makes the table
    let pgbench = || {
        sql(&format!(
            "INSERT INTO kvtrial.kv (k, v) SELECT convert_to(row::text, 'UTF8'), convert_to('1234567890ABCDEF', 'UTF8') \
             FROM generate_series(0, {}) AS row ORDER BY random()",
            SQL_ROWS - 1
        ));
        sql("VACUUM ANALYZE kvtrial.kv");
        let mut pgbench = Command::new("taskset");
        pgbench.env("PGPASSWORD", &server.password);
        pgbench.args(["-c", "0", "pgbench", "-n", "-M", "prepared", "-j", "1", "-h", place, "-U", &server.user, "-f"]);
        pgbench.arg(&script).args(["-c", &SQL_CLIENTS.to_string(), "-t", &(SQL_ROWS / SQL_CLIENTS).to_string()]);
        number_after(&output(pgbench.arg("postgres")), "tps =")
    };
    let empty = || _ = sql("TRUNCATE kvtrial.kv");
    let ratio = |round| {
        let (ours, theirs) =
            lab::in_turn(round, || fresh(&empty, || selects_per_s(&url, directory)), || fresh(&empty, pgbench));
        ours / theirs
    };
    let what = "crud select on PostgreSQL by the clock against pgbench, 16 clients, prepared, same table";
    say(what, (0..ROUNDS).map(ratio).collect(), "", ">= 0.95");
}

/// Point selects of the job's own table, prepared, for sysbench.
const SYSBENCH: &str = "
function thread_init()
   connection = sysbench.sql.driver():connect()
   statement = connection:prepare('SELECT v FROM kvtrial_kv WHERE k = ?')
   key = statement:bind_create(sysbench.sql.type.VARCHAR, 16)
   statement:bind_param(key)
end
function event()
   key:set(string.format('%d', sysbench.rand.uniform(0, ROWS - 1)))
   statement:execute()
end
";

fn crud_mariadb(directory: &Path) {
    let server = private_server("mysql-unix,durability=none", directory);
    let socket = server.socket.to_str().unwrap();
    let sql = |text: &str| {
        let mut client = Command::new("mariadb");
        output(client.env("MYSQL_PWD", &server.password).args([
            "-S",
            socket,
            "-u",
            &server.user,
            "kvtrial",
            "-e",
            text,
        ]))
    };
    let script = directory.join("select.lua");
    std::fs::write(&script, SYSBENCH.replace("ROWS", &SQL_ROWS.to_string())).unwrap();
    let url = server.url("mysql-unix");
    selects_per_s(&url, directory); // makes the table
    let sysbench = || {
        let rows = SQL_ROWS - 1;
        sql(&format!("INSERT INTO kvtrial_kv SELECT seq, '1234567890ABCDEF' FROM seq_0_to_{rows} ORDER BY RAND()"));
        let mut sysbench = Command::new("taskset");
        sysbench.args(["-c", "0", "sysbench", script.to_str().unwrap(), "--db-driver=mysql"]);
        sysbench.args([format!("--mysql-user={}", server.user), format!("--mysql-password={}", server.password)]);
        sysbench.args(["--mysql-db=kvtrial", &format!("--mysql-socket={socket}"), "--time=0"]);
        sysbench.args([format!("--threads={SQL_CLIENTS}"), format!("--events={SQL_ROWS}"), "run".into()]);
        let report = output(&mut sysbench);
        number_after(&report, "total number of events:") / number_after(&report, "total time:")
    };
    let empty = || _ = sql("TRUNCATE kvtrial_kv");
    let ratio = |round| {
        let (ours, theirs) =
            lab::in_turn(round, || fresh(&empty, || selects_per_s(&url, directory)), || fresh(&empty, sysbench));
        ours / theirs
    };
    let what = "crud select on MariaDB by the clock against sysbench, 16 clients, prepared, same table";
    say(what, (0..ROUNDS).map(ratio).collect(), "", ">= 0.95");
}

fn bulk_sqlite(directory: &Path) {
    let (source, batch) = ("gen:400000:42", 1000);
    let documents = DocSet::load(source, &IdScheme::Sequential).unwrap();
    let mut by_clock = Vec::new();
    let ratio = |round| {
        let words = format!("bulk -s sqlite --data {source} --set batch={batch} --set reduce=none");
        let cell = study(&[], &job(&words), directory);
        let load = phase(&cell, "load");
        let theirs = bare_sqlite(&documents, batch, &directory.join(format!("bare-{round}.sqlite")));
        by_clock.push(per(load, "records", "elapsed_s") / (documents.len() as f64 / theirs.elapsed_s));
        per(load, "records", "client_cpu_s") / (documents.len() as f64 / theirs.cpu_s)
    };
    let by_cpu = (0..ROUNDS).map(ratio).collect();
    say("bulk into SQLite against bare rusqlite, batches of 1000, by CPU time", by_cpu, "", ">= 0.80");
    say("bulk into SQLite against bare rusqlite, batches of 1000, by the clock", by_clock, "", ">= 0.80");
}

struct Took {
    elapsed_s: f64,
    cpu_s: f64,
}

/// The same batches through the library in a loop, as a program would write it: a transaction a batch, one prepared statement.
fn bare_sqlite(documents: &DocSet, batch: usize, path: &Path) -> Took {
    let mut connection = rusqlite::Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    connection.execute_batch("CREATE TABLE docs (key BLOB PRIMARY KEY, value BLOB NOT NULL)").unwrap();
    let (start, cpu) = (std::time::Instant::now(), own_cpu());
    let mut next = 0;
    while next < documents.len() {
        let end = (next + batch).min(documents.len());
        let transaction = connection.transaction().unwrap();
        let mut insert = transaction
            .prepare_cached(
                "INSERT INTO docs (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )
            .unwrap();
        for at in next..end {
            insert.execute((documents.id(at), documents.document(at))).unwrap();
        }
        drop(insert);
        transaction.commit().unwrap();
        next = end;
    }
    Took { elapsed_s: start.elapsed().as_secs_f64(), cpu_s: own_cpu() - cpu }
}
