//! `kvtrial query`: the job's own question to a store.

use super::{fork_server, target};
use crate::args::QueryArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{self, note, print};
use engine::Settings;
use runner::{Asked, KeysFound, Plan, PlannedStore, Question, Request, Rounds};
use study::Target;

/// Asks, and prints the answer: one line of JSON, on a terminal with one record a line.
pub fn query(arguments: &QueryArguments) -> Result<u8, CommandFailure> {
    let plan = plan(arguments)?;
    let question = match (&arguments.key, arguments.top) {
        (Some(key), _) => Question::One(key.clone()),
        (None, most) => Question::Largest(most.unwrap_or(10)),
    };
    let mut filling = || {
        let job = plan.job.name;
        note(&format!("kvtrial: the store is private and new, so the job {job} is run on it first"));
    };
    let answer = runner::ask(&plan, question, host::interrupt::flag(), &mut filling).map_err(CommandFailure::of)?;
    let Some(text) = answer else {
        return Err(CommandFailure { message: "interrupted".into(), status: failure::INTERRUPTED });
    };
    print(&if output::is_read_by_people() { text.lines().map(one_record_a_line).collect() } else { text })?;
    Ok(failure::GOOD)
}

/// An answer as people read it: the records in it one below the other. It is the same JSON.
fn one_record_a_line(answer: &str) -> String {
    let mut out = String::with_capacity(answer.len() + answer.len() / 8);
    let (mut depth, mut is_quoted, mut is_escaped) = (0, false, false);
    let mut signs = answer.chars().peekable();
    while let Some(sign) = signs.next() {
        let is_empty = matches!(signs.peek(), Some(']' | '}'));
        match sign {
            _ if is_quoted => {
                is_quoted = is_escaped || sign != '"';
                is_escaped = sign == '\\' && !is_escaped;
            }
            '"' => is_quoted = true,
            '[' | '{' => depth += 1,
            ']' | '}' => {
                if depth == RECORDS && !out.ends_with(['[', '{']) {
                    out.push('\n');
                }
                depth -= 1;
            }
            _ => {}
        }
        out.push(sign);
        if !is_quoted && depth == RECORDS && (sign == ',' || matches!(sign, '[' | '{') && !is_empty) {
            out.push_str("\n  ");
        }
    }
    out + "\n"
}

/// How deep in an answer its records stand.
const RECORDS: u32 = 2;

/// One cell, on which nothing is measured.
fn plan(arguments: &QueryArguments) -> Result<Plan, CommandFailure> {
    let job = target::job(&arguments.job)?;
    if job.extras.query.is_none() {
        return Err(CommandFailure::usage(format!("the job '{}' has no question to ask", job.name)));
    }
    let spec = target::spec(&arguments.store)?;
    let info = target::resolve(&spec)?;
    target::own_path(info, &spec)?;
    if spec.target != Target::Private && arguments.data.is_some() && arguments.top.is_none() {
        return Err(CommandFailure::usage(format!(
            "--data fills private stores only; to fill {spec}: kvtrial run {} -s {spec}",
            job.name
        )));
    }
    let settings = Settings::default();
    let request = Request {
        job,
        data: arguments.data.clone(),
        params: jobs::params(job, &[])?,
        stores: vec![PlannedStore { info, spec, asked: Asked::ByName, baseline: false }],
        settings,
        rounds: Rounds::ONCE,
        seed: settings.seed,
        base: target::base(arguments.base.as_deref())?,
        keys_found: KeysFound::Refuse,
        execution: fork_server::execution(),
    };
    request.question().map_err(CommandFailure::of_request)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::one_record_a_line;

    #[test]
    fn an_answer_has_one_record_a_line_on_a_terminal_and_stays_the_same_json() {
        let spread = [
            (r#"{"page":"a,[b","fans":3,"with":[["q\"],",2],["r",1]],"none":[],"by":{"x":{"y":1},"z":2}}"#, 7),
            (r#"{"term":"a","count":3}"#, 1),
            ("7", 1),
        ];
        for (answer, lines) in spread {
            let text = one_record_a_line(answer);
            let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            assert_eq!((read(&text), text.lines().count()), (read(answer), lines), "{text}");
        }
        let text = one_record_a_line(spread[0].0);
        assert!(
            text.starts_with("{\"page\":\"a,[b\",\"fans\":3,\"with\":[\n  [\"q\\\"],\",2],\n  [\"r\",1]\n],"),
            "{text}"
        );
    }
}
