//! Statements of SQL: what is sent, what comes back as Lua's values, and what is refused.
#![allow(clippy::unwrap_used)]

use crate::bad_input::{failed, says};
use crate::common::opened;
use crate::harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, run};
use store::{Capabilities, OperationKind, TreeNode};

/// Runs a script whose `run` is this on a server with these answers, by the last word of a statement.
fn ran(body: &str, seen: &mut Vec<(String, Vec<String>)>) -> Outcome {
    let job = opened(&format!("function run(client)\n{body}\nend"), None, &[]).unwrap();
    let mut server = |request: &Request| {
        let Request::Sql(statement, values) = request else { return Memory::default().answer(request) };
        let statement = String::from_utf8_lossy(statement).into_owned();
        let answer = answer(&statement);
        seen.push((statement, values.clone()));
        answer
    };
    run(job.as_ref(), &mut server, everything(), 1, Turns::OneByOne)
}

fn answer(statement: &str) -> Response {
    use TreeNode::{Decimal, Error, List, Map, Nil, Number, Text};
    let nodes = match statement.rsplit(' ').next().unwrap() {
        "rows" => vec![
            List(2),
            Map(2),
            Text((0, 2)),
            Number(1),
            Text((2, 4)),
            Decimal((4, 7)),
            Map(2),
            Text((0, 2)),
            Text((0, 2)),
            Text((2, 4)),
            Nil,
        ],
        "none" => vec![List(0)],
        "words" => vec![Error((0, 2))],
        _ => vec![Number(3)],
    };
    Response::Tree(nodes, b"idsu1.5".to_vec())
}

#[test]
fn parameters_are_sent_with_their_types() {
    let mut seen = Vec::new();
    let outcome = ran("kv.sql('INSERT INTO t VALUES (?)', 'a', 1, -0.5, true, nil, 2^60, nil)", &mut seen);
    assert_eq!(outcome.reasons, []);
    let due = ["Text([97])", "Number(1)", "Real(-0.5)", "Truth(true)", "Nil", "Real(1.152921504606847e18)", "Nil"];
    assert_eq!(seen, [("INSERT INTO t VALUES (?)".to_owned(), due.map(str::to_owned).to_vec())]);
    assert_eq!((outcome.fact("commands").as_u64(), outcome.fact("operations").as_u64()), (Some(1), Some(1)));
}

#[test]
fn rows_are_tables_by_column_and_what_is_null_is_nil() {
    let outcome = ran(
        "local rows = kv.sql('SELECT rows')
         kv.expect(#rows == 2 and rows[1].id == 1 and rows[1].su == 1.5, 'the first row')
         kv.expect(rows[2].id == 'id' and rows[2].su == nil, 'the second row')
         kv.expect(#kv.sql('SELECT none') == 0, 'no rows')
         kv.expect(kv.sql('UPDATE t') == 3, 'rows changed')
         local none, words = kv.sql('SELECT words')
         kv.expect(none == nil and words == 'id', 'an error')",
        &mut Vec::new(),
    );
    assert_eq!(outcome.reasons, []);
}

#[test]
fn what_is_of_a_connection_or_changes_the_server_is_refused_where_it_is_called() {
    says(&failed("kv.sql('begin')").1, &["test.lua:2: kv.sql: a transaction is of a connection", "as one statement"]);
    says(&failed("kv.sql('ALTER SYSTEM SET fsync = off')").1, &["ends or changes the server"]);
    says(&failed("kv.sql()").1, &["the statement is a nil"]);
    says(&failed("kv.sql('SELECT ?', {})").1, &["parameter 1 is a table"]);
    says(&failed("kv.sql('SELECT ?', 1, 0/0)").1, &["parameter 2 is nan"]);
    says(&failed("for n = 1, 1002 do kv.sql('SELECT ' .. n) end kv.sql('COMMIT')").1, &["a transaction"]);
}

#[test]
fn a_store_without_sql_is_refused_before_anything_starts() {
    let job = opened("function run(client) kv.sql('SELECT 1') end", None, &[]).unwrap();
    let without = Capabilities { native: everything().native.without(&[OperationKind::Sql]), ..everything() };
    says(&job.suits(&without).unwrap_err().0, &["test.lua calls kv.sql", "postgres-unix", "sqlite"]);
    assert!(job.suits(&everything()).is_ok());
}
