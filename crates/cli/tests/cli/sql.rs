//! `kv.sql` on the stores that have SQL.
#![allow(clippy::unwrap_used)]

use crate::common::{self, Desk, once};

const STORES: [&str; 3] = ["sqlite", "postgres-unix", "mysql-unix"];

#[test]
fn the_stock_is_sold_once_by_statements_of_three_stores() {
    let desk = Desk::new();
    let text = script::EXAMPLES.iter().find(|example| example.name == "stock").unwrap().text;
    desk.file("stock.lua", text);
    let ran = desk.run(&format!("stock.lua {} --repeats 1 --clients 4 --set orders=2000", common::named(&STORES)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in STORES {
        assert_eq!(ran.digest(store), ran.digest("sqlite"), "{store}");
        assert!(ran.digest(store).starts_with("sha256:"), "{}", ran.said());
    }
    assert!(ran.stdout.contains("operations judged by the script"), "{}", ran.said());
    let refused = desk.run(&once("stock.lua", "lmdb", &[]));
    assert!(refused.status == 2 && refused.stderr.contains("calls kv.sql"), "{}", refused.said());
}

#[test]
fn values_come_back_as_they_were_given_and_errors_are_nil_and_words() {
    let desk = Desk::new();
    let text = "local function sql(...)
  local result, failed = kv.sql(...)
  kv.expect(result, failed)
  return result
end

function run(client)
  local t = 't' .. client.number
  sql('CREATE TABLE ' .. t .. ' (id INT PRIMARY KEY, name VARCHAR(40), size BIGINT, share DOUBLE PRECISION, cost DECIMAL(20, 4))')
  for again = 1, 3 do
    local insert = 'INSERT INTO ' .. t .. ' VALUES (?, ?, ?, ?, ?)'
    kv.expect(sql(insert, again, 'it''s ?', -2^40, 0.1, 12.5) == 1, 'one row')
  end
  kv.expect(sql('INSERT INTO ' .. t .. ' VALUES (?, ?, ?, ?, ?)', 9, nil, nil, nil, nil) == 1, 'a row of nothing')
  local rows = sql('SELECT * FROM ' .. t .. ' WHERE id <= ? ORDER BY id', 9)
  kv.expect(#rows == 4, 'four rows, not ' .. #rows)
  local row = rows[2]
  kv.expect(row.id == 2 and row.name == \"it's ?\" and row.size == -2^40, 'texts and numbers')
  kv.expect(row.share == 0.1 and row.cost == 12.5, 'fractions')
  kv.expect(rows[4].id == 9 and rows[4].name == nil and rows[4].cost == nil, 'nothing')
  local sums = sql('SELECT COUNT(*) AS n, SUM(size) AS size, AVG(share) AS share FROM ' .. t)[1]
  kv.expect(sums.n == 4 and sums.size == -3 * 2^40 and math.abs(sums.share - 0.1) < 1e-9, 'sums')
  kv.expect(#sql('SELECT id FROM ' .. t .. ' WHERE id > ? LIMIT ?', 1, 2) == 2, 'a limit')
  kv.expect(sql('UPDATE ' .. t .. ' SET size = ? WHERE id < ?', 7, 3) == 2, 'two rows')
  for again = 1, 2 do
    local none, words = kv.sql('INSERT INTO ' .. t .. ' (id) VALUES (?)', 1)
    kv.expect(none == nil and #words > 5, 'a row that is there')
  end
  local none, words = kv.sql('SELECT nonsense FROM nowhere')
  kv.expect(none == nil and words:find('nowhere'), words)
  none, words = kv.sql('SELECT id FROM ' .. t .. ' WHERE id = ?')
  kv.expect(none == nil and words:find('1 parameters and was given 0'), words)
  none, words = kv.sql('SELECT 1; SELECT 2')
  kv.expect(none == nil, 'two statements at once')
  sql('DROP TABLE ' .. t)
end
"
    .replace("it''s", "it\\'s");
    desk.file("values.lua", &text);
    let ran = desk.run(&format!("values.lua {} --repeats 1 --no-baselines --clients 2", common::named(&STORES)));
    assert_eq!(ran.status, 0, "{}", ran.said());
}
