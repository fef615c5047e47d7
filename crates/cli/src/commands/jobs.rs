//! `kvtrial jobs`: every job in a line; by name, with its input and parameters. A script is tried as well.

mod trying;

use super::target;
use crate::args::JobsArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print};
use jobkit::JobInfo;

/// Prints the list.
pub fn jobs(arguments: &JobsArguments) -> Result<u8, CommandFailure> {
    let listed: Vec<&JobInfo> = match &arguments.job {
        Some(name) => vec![target::job(name)?],
        None => ::jobs::all().collect(),
    };
    let text = match arguments {
        JobsArguments { json: true, .. } => json(&listed),
        JobsArguments { job: None, .. } => lines(&listed),
        JobsArguments { job: Some(_), .. } => text(&listed),
    };
    print(&text)?;
    for job in listed.into_iter().filter(|job| script::is_script(job.name)) {
        let sentence = match (job.input, &arguments.data) {
            // Of a script's the other input is "none".
            (input, None) if input.starts_with("--data") => {
                "Not tried: it reads data, which --data FILE names.".to_owned()
            }
            (_, data) => trying::try_out(job, data.as_deref())?,
        };
        // Beside JSON, which is for programs, it is said to people.
        if arguments.json { note(&sentence) } else { print(&format!("{sentence}\n"))? }
    }
    Ok(failure::GOOD)
}

/// A line per job, longer ones folded below their own beginning.
fn lines(listed: &[&JobInfo]) -> String {
    let mut text: String = listed.iter().map(|job| wrapped(&format!("{:7} {}", job.name, job.summary), 0, 8)).collect();
    text +=
        "\nkvtrial jobs NAME shows a job's input, parameters and presets; kvtrial jobs\nFILE.lua those of a script.\n";
    text
}

fn text(listed: &[&JobInfo]) -> String {
    let mut text = String::new();
    for job in listed {
        text += &wrapped(&format!("{}: {}", job.name, job.summary), 0, 2);
        text += &wrapped(&format!("input: {}", job.input), 2, 4);
        for param in job.params {
            let line = format!("--set {}={}   {} ({})", param.name, param.default, param.help, param.values);
            text += &wrapped(&line, 4, 6);
        }
        for preset in job.extras.presets {
            text += &wrapped(&format!("--preset {}   {} ({})", preset.name, preset.about, preset.source), 4, 6);
        }
        text += "\n";
    }
    text
}

/// Words of a line within 80 columns, continuation lines indented by their own.
fn wrapped(line: &str, indent: usize, further: usize) -> String {
    let mut text = " ".repeat(indent);
    let mut column = indent;
    for word in line.split_inclusive(' ') {
        if column + word.trim_end().chars().count() > 80 && column > further {
            text.truncate(text.trim_end().len());
            text += &format!("\n{}", " ".repeat(further));
            column = further;
        }
        text += word;
        column += word.chars().count();
    }
    text + "\n"
}

fn json(listed: &[&JobInfo]) -> String {
    let jobs: Vec<serde_json::Value> = listed
        .iter()
        .map(|job| {
            let params: Vec<serde_json::Value> = job
                .params
                .iter()
                .map(|param| {
                    serde_json::json!({
                        "name": param.name, "default": param.default, "values": param.values, "help": param.help
                    })
                })
                .collect();
            let presets: Vec<serde_json::Value> = job
                .extras
                .presets
                .iter()
                .map(|preset| serde_json::json!(preset.record(jobkit::Scale::FULL, Vec::new())))
                .collect();
            serde_json::json!({
                "name": job.name, "summary": job.summary, "input": job.input, "params": params, "presets": presets
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::from(jobs))
}

#[cfg(test)]
mod tests {
    use super::{json, lines, text};

    #[test]
    fn every_job_is_listed_within_eighty_columns_and_as_json() {
        let all: Vec<_> = ::jobs::all().collect();
        let short = lines(&all);
        assert!(all.iter().all(|job| short.lines().any(|line| line.starts_with(job.name))), "{short}");
        assert!(short.lines().count() <= 2 * all.len() + 3, "{short}");
        let text = text(&all);
        assert!(text.starts_with("fans: ") && text.contains("\nycsb: "), "{text}");
        assert!(text.lines().chain(short.lines()).all(|line| line.chars().count() <= 80), "{text}");
        assert!(json(&all).contains("\"policy\""));
    }
}
