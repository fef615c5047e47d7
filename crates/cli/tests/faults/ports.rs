//! Ports somebody else has: at a URL, and between kvtrial's choice of a port and its server's.

use crate::common::Desk;
use crate::running::{Over, Running};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// A URL whose port a stranger listens on, who closes what connects.
pub fn stranger_at_the_url(store: &str, job: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().for_each(drop));
    let begun = Instant::now();
    let ran = Desk::new().kvtrial(&format!("run {job} -s {store}://127.0.0.1:{port} --no-baselines --repeats 1"));
    assert!(ran.status == 2 && ran.stderr.contains(&port.to_string()), "{store}: {}", ran.said());
    assert!(begun.elapsed() < Duration::from_secs(10), "{store}: {:?}", begun.elapsed());
}

/// A thief takes the port kvtrial chose, the first time: the server has another.
pub fn taken_once(store: &str, job: &str) {
    let over = stolen(store, job, 1);
    assert_eq!(over.ran.status, 0, "{}: {}", over.words, over.ran.said());
    over.resumes();
}

/// A thief takes every port: kvtrial gives up, and says why.
pub fn taken_every_time(store: &str, job: &str) {
    let over = stolen(store, job, 99);
    let said = over.ran.said();
    assert_eq!(over.ran.status, 2, "{}: {said}", over.words);
    assert!(said.contains("in use") || said.contains("Address already"), "{}: {said}", over.words);
    assert!(over.took < Duration::from_secs(30), "{}: {:?}", over.words, over.took);
}

/// Runs a job on a private TCP server whose program waits until a listener of the test's has its port; it does so as often as asked.
fn stolen(store: &str, job: &str, times: usize) -> Over {
    let program = if store == "redis" { "redis-server" } else { "memcached" };
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
    let real = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    assert!(!real.is_empty(), "no {program}: apt-get install redis-server memcached");
    let words = format!("{job} --set records=1000 --set operations=20000 -s {store} --repeats 1 --warmups 0");
    let begun = Instant::now();
    let (mut asked, mut kept) = (0, Vec::new());
    let running = Running::start_at(&words, |desk| thief(desk, program, &real), |_| {});
    let desk = running.desk.path().to_owned();
    let served = thread::spawn(move || {
        while asked < times && begun.elapsed() < Duration::from_secs(60) && !desk.join("over").exists() {
            let Some(port) = fs::read_to_string(desk.join("asked")).ok().and_then(|text| text.trim().parse().ok())
            else {
                thread::sleep(Duration::from_millis(2));
                continue;
            };
            let port: u16 = port;
            kept.push(TcpListener::bind(("127.0.0.1", port)).unwrap());
            asked += 1;
            fs::remove_file(desk.join("asked")).unwrap();
            fs::write(desk.join("taken"), "").unwrap();
        }
        // From now on nobody waits.
        fs::write(desk.join("enough"), "").unwrap();
        asked
    });
    let over = running.ended(begun);
    fs::write(over.desk.path().join("over"), "").unwrap();
    let taken = served.join().unwrap();
    assert!(taken >= 1 && (times > 1 || taken == 1), "{words}: {taken} ports were taken");
    over
}

/// A program of the server's name before it on `PATH`: says which port it is to have, and waits until somebody has it.
fn thief(desk: &Path, program: &str, real: &str) {
    let script = format!(
        r#"#!/bin/sh
port= last=
for word do
    case $last in --port | -p) port=$word ;; esac
    last=$word
done
if [ "$port" ] && [ ! -e '{desk}/enough' ]; then
    echo "$port" >'{desk}/asking'
    mv '{desk}/asking' '{desk}/asked'
    tries=0
    while [ ! -e '{desk}/taken' ] && [ $tries -lt 1000 ]; do
        tries=$((tries + 1))
        sleep 0.01
    done
    rm -f '{desk}/taken'
fi
exec '{real}' "$@"
"#,
        desk = desk.display()
    );
    let path = desk.join(program);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}
