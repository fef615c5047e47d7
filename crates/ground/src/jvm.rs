//! Stores that are Java programs: the Java that runs them, its heap, and whether the machine has memory for all of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use store::{Availability, Bundle, Choice, CommandLine, Endpoint, Number, OptionInfo, Place, StoreError, programs};
use study::{Spec, Target};

/// The command that installs Java.
const INSTALL_JAVA: &str = "apt-get install openjdk-17-jre-headless";

/// The oldest Java that runs all of these programs.
const OLDEST: u32 = 17;

/// The directory where packages put Java, each release in a directory of its own.
const RELEASES: &str = "/usr/lib/jvm";

/// The option of a store that may be several servers.
pub const NODES: Choice<u32> = OptionInfo::one_of("nodes", &["1", "3"], "servers that are one store").means(&[1, 3]);

/// The option that sets the heap.
pub const HEAP: Number =
    OptionInfo::text("heap", "MiB of heap of each Java process, 64 to 65536").usual("512").mib(64..=65_536);

/// The memory that each Java process needs.
#[derive(Clone, Copy)]
pub struct JvmMemory {
    /// The heap, in MiB.
    pub heap_mib: u64,
    /// The memory that a process takes beside its heap, in MiB.
    pub beside_mib: u64,
    /// The options that reduce the memory, as the user knows them.
    pub less_by: &'static str,
}

/// A Java program that is started once per node.
pub struct Jvm {
    java: PathBuf,
    /// The class path as Java takes it: directories whose jars all count end in `/*`.
    class_path: OsString,
    heap_mib: u64,
}

/// Returns the name of a node, and the place that it is planned in: a single node has the private directory to itself.
pub fn name_and_place(place: &mut Place, number: u32, count: u32) -> (String, Place) {
    if count == 1 {
        return (String::new(), place.clone());
    }
    let name = format!("node{number}");
    let place = place.node(&name);
    (name, place)
}

/// Refuses options for a private cluster when kvtrial does not start the cluster.
pub fn no_options_elsewhere(spec: &Spec) -> Result<(), StoreError> {
    match (&spec.target, spec.options.keys().next()) {
        (Target::Server(_), Some(option)) => Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!(
                "{option}= is for a private store; set it in the configuration of yours, and leave it out here"
            ),
        }),
        _ => Ok(()),
    }
}

/// Returns the facts of a private store: its servers, the heap of each, and which of them is asked.
pub fn facts(spec: &Spec, nodes: &[Endpoint]) -> Result<BTreeMap<String, String>, StoreError> {
    let all = [
        ("nodes", nodes.len().to_string()),
        ("heap", format!("{} MiB each", HEAP.read::<u64>(spec)?)),
        ("sessions", "clients are spread over the nodes".to_owned()),
    ];
    Ok(all.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Returns whether a program and a Java for it are here.
pub fn probe(bundle: &Bundle) -> Availability {
    match (bundle.found(), java()) {
        (None, _) => Availability::NotFound(format!("{} {}", bundle.product, bundle.version)),
        (_, None) => Availability::NotFound(format!("Java {OLDEST}; {INSTALL_JAVA}")),
        _ => Availability::Found(format!("{} {}", bundle.product, bundle.version)),
    }
}

impl Jvm {
    /// Finds program and Java.
    ///
    /// One of them is missing: how to get it. Or the machine has too little memory for `processes` such processes.
    /// One of them is missing: how to get it. Or the machine has too little memory for `processes` of them.
    pub fn of(
        spec: &Spec,
        bundle: &Bundle,
        install: &str,
        processes: u32,
        memory: JvmMemory,
    ) -> Result<Jvm, StoreError> {
        let class_path = bundle.found();
        let class_path =
            class_path.ok_or_else(|| not_found(spec, format!("{} {}", bundle.product, bundle.version), install))?;
        let java = required(java(), spec, u32::MAX)?;
        memory.enough(spec, processes, free_mib())?;
        Ok(Jvm { java, class_path: class_path.join("*").into_os_string(), heap_mib: memory.heap_mib })
    }

    /// Finds Java for classes that the user has, which run on no Java newer than `newest`; otherwise the same.
    pub fn running(
        spec: &Spec,
        class_path: OsString,
        newest: u32,
        processes: u32,
        memory: JvmMemory,
    ) -> Result<Jvm, StoreError> {
        let java = required(java_to(newest), spec, newest)?;
        memory.enough(spec, processes, free_mib())?;
        Ok(Jvm { java, class_path, heap_mib: memory.heap_mib })
    }

    /// Returns the start of a command line: heap, class path, and nothing written or heard outside the node's directory.
    pub fn command(&self, place: &Place) -> CommandLine {
        self.with_classes(place, OsString::new())
    }

    /// Returns the same as [`Jvm::command`], for a program that looks for its configuration, a file in this directory, among its classes.
    pub fn command_reading(&self, place: &Place, configuration: &Path) -> CommandLine {
        let mut first = configuration.as_os_str().to_owned();
        first.push(":");
        self.with_classes(place, first)
    }

    fn with_classes(&self, place: &Place, mut classes: OsString) -> CommandLine {
        let heap = self.heap_mib;
        classes.push(&self.class_path);
        let mut temporary = OsString::from("-Djava.io.tmpdir=");
        temporary.push(&place.directory);
        CommandLine::new(&self.java)
            .args([format!("-Xms{heap}m"), format!("-Xmx{heap}m")])
            .args(["-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError", "-Djava.net.preferIPv4Stack=true"])
            .args(["-Djava.awt.headless=true"])
            .arg(temporary)
            .arg("-cp")
            .arg(classes)
    }
}

fn not_found(spec: &Spec, what: String, install: &str) -> StoreError {
    StoreError::NotFound { store: spec.name.clone(), what, install: install.into() }
}

/// Returns the Java that was found, of no release newer than this, or an error that says how to get one.
fn required(java: Option<PathBuf>, spec: &Spec, newest: u32) -> Result<PathBuf, StoreError> {
    java.ok_or_else(|| not_found(spec, releases_to(newest), INSTALL_JAVA))
}

impl JvmMemory {
    /// Returns the heap that a spec asks for, and the memory that a process takes beside it.
    ///
    /// # Errors
    /// The heap is no number of MiB.
    pub fn of(spec: &Spec, beside_mib: u64) -> Result<JvmMemory, StoreError> {
        Ok(JvmMemory { heap_mib: HEAP.read(spec)?, beside_mib, less_by: "nodes= or heap=" })
    }

    /// Refuses to start processes that the machine has too little memory for. A machine that swaps, or kills, would give a far worse error.
    fn enough(self, spec: &Spec, processes: u32, free_mib: Option<u64>) -> Result<(), StoreError> {
        let needed_mib = u64::from(processes) * (self.heap_mib + self.beside_mib);
        match free_mib.filter(|free_mib| *free_mib < needed_mib) {
            None => Ok(()),
            Some(free_mib) => Err(StoreError::NotStarted {
                store: spec.name.clone(),
                problem: format!(
                    "{processes} Java {} about {needed_mib} MiB of memory, and {free_mib} MiB are free; free some, or ask \
                     for less with {}",
                    if processes == 1 { "process needs" } else { "processes need" },
                    self.less_by
                ),
            }),
        }
    }
}

fn free_mib() -> Option<u64> {
    store::memory::free_bytes().map(|bytes| bytes >> 20)
}

/// Returns the Java to use: the one on `PATH` if it is new enough, else one that a package has put beside it.
fn java() -> Option<PathBuf> {
    java_to(u32::MAX)
}

/// Returns the same, of no release newer than this.
pub fn java_to(newest: u32) -> Option<PathBuf> {
    static JAVA: Mutex<BTreeMap<u32, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut known = JAVA.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(newest).or_insert_with(|| find_java(newest)).clone()
}

/// Returns what is missing where there is no such Java.
pub fn missing_to(newest: u32) -> String {
    format!("{}; {INSTALL_JAVA}", releases_to(newest))
}

fn releases_to(newest: u32) -> String {
    match newest {
        OLDEST | u32::MAX => format!("Java {OLDEST}"),
        _ => format!("Java {OLDEST} to {newest}"),
    }
}

fn find_java(newest: u32) -> Option<PathBuf> {
    let version = |java: &Path| programs::version_line(java, &["-version"]);
    first_that_will_do(programs::find(&["java"], &[]).into_iter().chain(beside(Path::new(RELEASES))), version, newest)
}

/// Returns the releases that packages have put here.
fn beside(releases: &Path) -> impl Iterator<Item = PathBuf> {
    let releases = std::fs::read_dir(releases).into_iter().flatten().flatten();
    releases.map(|release| release.path().join("bin/java")).filter(|java| java.is_file())
}

/// Returns the first Java that is neither too old nor newer than this.
fn first_that_will_do(
    mut javas: impl Iterator<Item = PathBuf>,
    version: impl Fn(&Path) -> Option<String>,
    newest: u32,
) -> Option<PathBuf> {
    javas.find(|java| {
        let release = version(java).and_then(|line| release(&line));
        release.is_some_and(|release| (OLDEST..=newest).contains(&release))
    })
}

/// Reads the release from `openjdk version "17.0.15" 2025-04-15`; before 9 it was `1.8.0`.
fn release(line: &str) -> Option<u32> {
    line.split('"').nth(1)?.split(['.', '-']).next()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{HEAP, JvmMemory, beside, first_that_will_do, release, required};
    use std::path::{Path, PathBuf};
    use study::Spec;

    #[test]
    fn without_a_java_that_will_do_it_is_said_how_to_get_one() {
        let releases = tempfile::tempdir().unwrap();
        std::fs::create_dir(releases.path().join("docs")).unwrap();
        let found = |newest| {
            let version = |java: &Path| {
                let number = if java == Path::new("/usr/bin/java") { "11.0.1" } else { "21.0.3" };
                Some(format!("openjdk version \"{number}\" 2025-04-15"))
            };
            let on_path = Some(PathBuf::from("/usr/bin/java"));
            first_that_will_do(on_path.into_iter().chain(beside(releases.path())), version, newest)
        };
        assert_eq!(found(u32::MAX), None, "it is too old, and there is no other");
        let spec: Spec = "hazelcast".parse().unwrap();
        let words = required(None, &spec, u32::MAX).unwrap_err().to_string();
        assert!(words.contains("Java 17") && words.contains("apt-get install openjdk-17-jre-headless"), "{words}");
        let other = releases.path().join("java-21/bin/java");
        std::fs::create_dir_all(other.parent().unwrap()).unwrap();
        std::fs::write(&other, "").unwrap();
        assert_eq!((found(u32::MAX), found(21), found(20)), (Some(other.clone()), Some(other), None));
        let words = required(found(20), &spec, 20).unwrap_err().to_string();
        assert!(words.contains("Java 17 to 20"), "{words}");
    }

    #[test]
    fn the_release_of_java_is_read_as_java_writes_it() {
        assert_eq!(release("openjdk version \"17.0.15\" 2025-04-15"), Some(17));
        assert_eq!(release("openjdk version \"21-ea\" 2023-09-19"), Some(21));
        assert_eq!(release("java version \"1.8.0_202\""), Some(1));
        assert_eq!(release("sh: java: not found"), None);
    }

    #[test]
    fn too_little_memory_for_all_processes_is_said_with_both_numbers() {
        let spec: Spec = "hazelcast,nodes=3,heap=300".parse().unwrap();
        let memory = JvmMemory::of(&spec, 100).unwrap();
        assert!(memory.enough(&spec, 3, Some(1200)).is_ok() && memory.enough(&spec, 3, None).is_ok());
        let words = memory.enough(&spec, 3, Some(1199)).unwrap_err().to_string();
        assert!(
            words.contains("3 Java processes need about 1200 MiB") && words.contains("1199 MiB are free"),
            "{words}"
        );
        assert!(words.ends_with("nodes= or heap="), "{words}");
        let memory = JvmMemory { less_by: "nodes=, heap= or memory=", ..memory };
        let words = memory.enough(&"ignite".parse().unwrap(), 1, Some(1)).unwrap_err().to_string();
        assert!(words.contains("1 Java process needs") && words.ends_with("heap= or memory="), "{words}");
    }

    #[test]
    fn a_heap_is_a_number_of_mebibytes() {
        let of = |text: &str| HEAP.read::<u64>(&text.parse::<Spec>().unwrap());
        assert_eq!((of("hazelcast").unwrap(), of("hazelcast,heap=256").unwrap()), (512, 256));
        assert!(of("hazelcast,heap=2g").unwrap_err().to_string().contains("heap=2g"));
    }
}
