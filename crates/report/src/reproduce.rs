//! The command line that measures one cell again.

use study::{Cell, Study};

/// Parameters of the engine and the options that set them.
const ENGINE: [(&str, &str); 4] =
    [("clients", "--clients"), ("pipeline", "--pipeline"), ("threads", "--threads"), ("rate", "--rate")];
/// Options of the whole study that change what is measured, and take a value.
const CARRIED: [&str; 4] = ["--data", "--base", "--deadline", "--scale"];

/// Returns the command that measures this cell alone, with the study's repeats and seed. Every parameter is said, defaults too.
pub(crate) fn command(study: &Study, cell: &Cell) -> String {
    let mut words = vec!["kvtrial".to_owned(), "run".into(), cell.job.clone(), "-s".into(), cell.store.clone()];
    for (key, value) in &cell.params {
        match (ENGINE.iter().find(|(name, _)| name == key), key.as_str()) {
            (Some((_, option)), _) => words.extend([(*option).to_owned(), value.clone()]),
            (None, "arrivals") if value == "poisson" => words.push("--poisson".into()),
            (None, "arrivals") => {}
            (None, "timing") => words
                .extend(value.strip_prefix("1/").into_iter().flat_map(|every| ["--sample".to_owned(), every.into()])),
            (None, _) => words.extend(["--set".to_owned(), format!("{key}={value}")]),
        }
    }
    for option in CARRIED {
        words.extend(carried(&study.command, option).into_iter().flat_map(|value| [option.to_owned(), value]));
    }
    if !cell.baseline || study.command.iter().any(|word| word == "--no-baselines") {
        words.push("--no-baselines".into());
    }
    words.extend(["--repeats".into(), study.repeats.max(1).to_string()]);
    words.extend(["--warmups".into(), study.warmups.to_string()]);
    words.extend(["--seed".into(), study.seed.to_string()]);
    line(&words)
}

/// Returns the words as a shell takes them.
pub(crate) fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn carried(command: &[String], option: &str) -> Option<String> {
    let at = command.iter().position(|word| word == option || word.starts_with(&format!("{option}=")))?;
    match command[at].split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => command.get(at + 1).cloned(),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+,.:/@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::command;
    use study::{Cell, Study};

    #[test]
    fn a_cell_is_measured_again_by_one_line_with_every_parameter() {
        let params =
            [("clients", "16"), ("policy", "cas"), ("rate", "1000"), ("arrivals", "poisson"), ("timing", "1/64")];
        let cell = Cell {
            job: "fans".into(),
            store: "redis,note=it's".into(),
            params: params.map(|(key, value)| (key.into(), value.into())).into(),
            ..Cell::default()
        };
        let words = ["kvtrial", "run", "fans", "--data=my file.tsv", "-s", "redis"].map(str::to_owned).into();
        let study = Study { command: words, repeats: 5, seed: 7, ..Study::default() };
        assert_eq!(
            command(&study, &cell),
            r"kvtrial run fans -s 'redis,note=it'\''s' --poisson --clients 16 --set policy=cas --rate 1000 --sample 64 --data 'my file.tsv' --no-baselines --repeats 5 --warmups 0 --seed 7"
        );
    }
}
