//! Statements of SQL that a script may not send.

/// The stores that take statements.
pub(crate) const STORES: [&str; 5] = ["postgres", "postgres-unix", "mysql", "mysql-unix", "sqlite"];

const TRANSACTION: &str = "a transaction is of a connection, which other clients may share. Write what belongs together as one statement: UPDATE … WHERE, INSERT … SELECT, \
     a function on the server";
const CONNECTION: &str = "this statement changes the connection, which is kvtrial's. Name user, password and database in the address: -s postgres://USER@HOST/DATABASE";
const BLOCKS: &str = "this statement holds a lock of the connection, and all that is sent behind it waits. Write one statement that checks and changes: UPDATE … WHERE";
const ENDS: &str = "this statement ends or changes the server that kvtrial measures. Give settings of a private server with its name: -s postgres,NAME=VALUE";
const ALL_DATA: &str =
    "this statement removes what others keep in the server, too. DROP TABLE removes a table of the script's own";

/// Returns why a script may not send a statement, with the remedy; `None`: it may.
pub(crate) fn refusal(statement: &str) -> Option<&'static str> {
    let mut words = words(statement);
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    Some(match (first.as_str(), second.as_str()) {
        ("", _) => "the statement is empty. Write it first, as in kv.sql('SELECT name FROM people WHERE id = ?', id)",
        ("BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE" | "XA", _)
        | ("PREPARE", "TRANSACTION") => TRANSACTION,
        ("LOCK" | "UNLOCK" | "HANDLER" | "DECLARE" | "FETCH" | "CLOSE", _) => BLOCKS,
        ("LISTEN" | "UNLISTEN" | "USE" | "SET" | "RESET" | "DISCARD" | "PREPARE" | "EXECUTE" | "DEALLOCATE", _)
        | ("ATTACH" | "DETACH" | "PRAGMA" | "COPY" | "LOAD" | "CONNECT", _) => CONNECTION,
        (
            "DROP" | "CREATE" | "ALTER",
            "DATABASE" | "SCHEMA" | "USER" | "ROLE" | "TABLESPACE" | "EXTENSION" | "SERVER",
        ) => {
            if first == "DROP" {
                ALL_DATA
            } else {
                ENDS
            }
        }
        ("ALTER", "SYSTEM" | "INSTANCE") => ENDS,
        ("SHUTDOWN" | "KILL" | "GRANT" | "REVOKE" | "FLUSH" | "PURGE" | "CHECKPOINT" | "VACUUM" | "INSTALL", _)
        | ("CHANGE" | "STOP", _) => ENDS,
        _ => return None,
    })
}

/// Returns the words of a statement in capitals, without comments.
fn words(statement: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = statement;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '(' || letter == ';');
            rest = match (rest.strip_prefix("--"), rest.strip_prefix("/*")) {
                (Some(comment), _) => comment.split_once('\n').map_or("", |(_, behind)| behind),
                (_, Some(comment)) => comment.split_once("*/").map_or("", |(_, behind)| behind),
                _ => break,
            };
        }
        let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        (!word.is_empty()).then(|| word.to_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn what_is_of_a_connection_or_ends_or_changes_the_server_is_refused_with_a_remedy() {
        for statement in [
            "BEGIN",
            "  commit;",
            "-- a comment\nrollback",
            "/* one */ /* two */ SAVEPOINT s",
            "LOCK TABLE t",
            "SET search_path = x",
            "PRAGMA synchronous = OFF",
            "DROP DATABASE x",
            "alter system set fsync = off",
            "CREATE USER x",
            "SHUTDOWN",
            "",
            "-- nothing",
        ] {
            assert!(refusal(statement).is_some_and(|why| why.contains(". ")), "{statement}");
        }
        for statement in [
            "SELECT 1",
            "(SELECT 1) UNION (SELECT 2)",
            "WITH new AS (INSERT INTO t VALUES (1) RETURNING id) SELECT * FROM new",
            "CREATE TABLE begin_of (id INT)",
            "DROP TABLE IF EXISTS t",
            "DROP INDEX i",
            "UPDATE t SET n = n + 1 -- BEGIN",
            "INSERT INTO t VALUES ('COMMIT')",
        ] {
            assert_eq!(refusal(statement), None, "{statement}");
        }
    }
}
