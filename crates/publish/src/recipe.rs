//! The command of a study, as others can repeat it: what is measured, and nothing of where its author keeps files.

use study::Study;

/// Commands whose studies have cells with trials.
const PUBLISHED: [&str; 3] = ["run", "choose", "tune"];
/// Options with a value that only say where files lie, or what becomes of them.
const PLACES: [&str; 4] = ["--out", "--base", "--color", "--keep"];
/// Options without a value that are of the author's run alone.
const OF_THE_RUN: [&str; 3] = ["--resume", "--strict", "--overwrite"];
/// Options whose value is a file of the author's.
const FILES: [&str; 2] = ["--plan", "--host"];
/// Options without a value.
const SWITCHES: [&str; 9] = [
    "--limit-memory",
    "--poisson",
    "--quick",
    "--no-baselines",
    "--clear",
    "--only",
    "--no-tune",
    "--history",
    "--here",
];

/// What was measured, as its own command says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// `run`, `choose` or `tune`.
    pub command: String,
    /// The stores, as their specs.
    pub stores: Vec<String>,
    /// Everything else, in its order: the job, and options with their values.
    pub rest: Vec<String>,
}

/// One word of a command line: an option with its value, or a word by itself.
enum Part<'w> {
    Option(&'w str, Option<&'w str>),
    Word(&'w str),
}

/// The parts of a command line after its first two words.
fn parts(words: &[String]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let is_option = word.starts_with('-') && word.len() > 1;
        match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((option, value)) => parts.push(Part::Option(option, Some(value))),
            None if SWITCHES.contains(&word) || OF_THE_RUN.contains(&word) => parts.push(Part::Option(word, None)),
            None if is_option && word.starts_with("-s") && word.len() > 2 && !word.starts_with("--") => {
                parts.push(Part::Option("-s", Some(&word[2..])));
            }
            None if is_option => parts.push(Part::Option(word, words.next())),
            None => parts.push(Part::Word(word)),
        }
    }
    parts
}

/// Returns a command without options that only say where files lie, or what becomes of them.
pub(crate) fn without_places(command: &[String]) -> Vec<String> {
    let Some((head, rest)) = command.split_at_checked(2) else { return command.to_vec() };
    let mut kept = head.to_vec();
    for part in parts(rest) {
        match part {
            Part::Option(option, _) if PLACES.contains(&option) || OF_THE_RUN.contains(&option) => {}
            Part::Option("--history", _) => kept.push("--history".into()),
            Part::Option(option, value) => kept.extend([Some(option), value].into_iter().flatten().map(str::to_owned)),
            Part::Word(word) => kept.push(word.to_owned()),
        }
    }
    kept
}

impl Recipe {
    /// Returns the recipe of a study.
    ///
    /// # Errors
    /// Others cannot repeat it: why, and what can be done.
    pub fn of(study: &Study) -> Result<Recipe, String> {
        let words = without_places(&study.command);
        let [program, command, rest @ ..] = words.as_slice() else {
            return Err("there is none. Measure again with this kvtrial".into());
        };
        if program != "kvtrial" || !PUBLISHED.contains(&command.as_str()) {
            return Err(format!("'{program} {command}' is none of kvtrial {}", PUBLISHED.join(", ")));
        }
        let mut recipe = Recipe { command: command.clone(), stores: Vec::new(), rest: Vec::new() };
        for part in parts(rest) {
            match part {
                Part::Option("-s" | "--store", spec) => {
                    let spec = spec.unwrap_or_default();
                    everyones(spec)?;
                    recipe.stores.push(spec.to_owned());
                }
                Part::Option(option, Some(value)) if is_file(option, value) => {
                    return Err(format!(
                        "{option} {value} is yours alone. Measure with what kvtrial jobs and kvtrial stores list"
                    ));
                }
                Part::Option(option, value) => {
                    recipe.rest.extend([Some(option), value].into_iter().flatten().map(str::to_owned));
                }
                Part::Word(word) if word.contains(['/', '.']) => {
                    return Err(format!(
                        "{word} is a file of yours, which is not in the study. Measure with a job that kvtrial jobs lists"
                    ));
                }
                Part::Word(word) => recipe.rest.push(word.to_owned()),
            }
        }
        Ok(recipe)
    }

    /// Returns the words that measure these stores again, each with this number of counted trials.
    pub fn arguments(&self, stores: &[String], repeats: u32) -> Vec<String> {
        let mut words = vec![self.command.clone()];
        let mut rest = self.rest.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "--repeats" => drop(rest.next()),
                "--quick" | "--no-baselines" => {}
                _ => words.push(word.clone()),
            }
        }
        words.extend(["--repeats".into(), repeats.to_string(), "--no-baselines".into()]);
        words.extend(stores.iter().flat_map(|store| ["-s".to_owned(), store.clone()]));
        words
    }
}

/// Whether a value is a file, or a machine, of the author's.
fn is_file(option: &str, value: &str) -> bool {
    FILES.contains(&option) || option == "--data" && value.contains(['/', '.'])
}

/// A store that everyone has, or can get: one that kvtrial starts itself.
fn everyones(spec: &str) -> Result<(), String> {
    let is_ours = !spec.contains("://") && !spec.contains('/') && !spec.contains("***") && !spec.starts_with("plugin");
    let is_named = spec.split(',').next().is_some_and(|name| !name.contains(':'));
    if is_ours && is_named {
        return Ok(());
    }
    Err(format!(
        "{spec} is a store of yours: others have neither its address nor its files. Measure one that kvtrial starts, such as {}",
        spec.split([':', ',', '@']).next().filter(|name| *name != "plugin").unwrap_or("redis")
    ))
}

#[cfg(test)]
mod tests {
    use super::{Recipe, without_places};
    use study::Study;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_published_command_is_without_the_places_of_its_author() {
        let line = "kvtrial run ycsb -s lmdb --out /home/ann/x --set workload=B --base=/data --resume --repeats 5";
        assert_eq!(without_places(&words(line)).join(" "), "kvtrial run ycsb -s lmdb --set workload=B --repeats 5");
        let line = "kvtrial run ycsb -slmdb --history=/tmp/h.json --quick";
        assert_eq!(without_places(&words(line)).join(" "), "kvtrial run ycsb -s lmdb --history --quick");
    }

    #[test]
    fn others_can_repeat_stores_and_jobs_of_kvtrial_and_nothing_of_the_authors_machine() {
        let of = |line: &str| Recipe::of(&Study { command: words(line), ..Study::default() });
        let recipe =
            of("kvtrial run ycsb -s lmdb,durability=os --store=redis@8.2 --set workload=B --repeats 9 --quick")
                .unwrap();
        assert_eq!(recipe.stores, ["lmdb,durability=os", "redis@8.2"]);
        let again = recipe.arguments(&recipe.stores[..1], 3).join(" ");
        assert_eq!(again, "run ycsb --set workload=B --repeats 3 --no-baselines -s lmdb,durability=os");
        for (line, why) in [
            ("kvtrial run ycsb -s redis://h:1", "a store of yours"),
            ("kvtrial run ycsb -s lmdb:/data", "a store of yours"),
            ("kvtrial run ycsb -s plugin:./x.so", "a store of yours"),
            ("kvtrial run ycsb -s rocksdb,lib=/x.so", "a store of yours"),
            ("kvtrial run ycsb -s redis,requirepass=***", "a store of yours"),
            ("kvtrial run mine.lua -s lmdb", "a file of yours"),
            ("kvtrial run ycsb -s lmdb --data mine.csv", "is yours alone"),
            ("kvtrial run ycsb -s redis --host db1", "is yours alone"),
            ("kvtrial crash -s lmdb", "is none of"),
            ("rm -rf x", "is none of"),
        ] {
            let found = of(line).unwrap_err();
            assert!(found.contains(why), "{line}: {found}");
        }
    }
}
