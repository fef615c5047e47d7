-- A shop's stock in SQL: what is sold is taken from the stock in one statement, so nothing is sold that is not there.
-- Runs on PostgreSQL, MySQL or MariaDB, and SQLite: kvtrial run stock.lua -s postgres -s mysql -s sqlite

local articles = kv.param('articles', 50, 'articles')
local pieces = kv.param('pieces', 30, 'pieces of each article in the stock')
local orders = kv.param('orders', 2000, 'orders, over all clients')

local function checked(...)
  local result, failed = kv.sql(...)
  kv.expect(result, failed)
  return result
end

function load(client)
  if client.number > 1 then return end
  checked('DROP TABLE IF EXISTS stock')
  checked('CREATE TABLE stock (article INT PRIMARY KEY, pieces INT NOT NULL, sold INT NOT NULL)')
  for article = 1, articles do checked('INSERT INTO stock VALUES (?, ?, 0)', article, pieces) end
end

-- Every order wants a piece of one article. It is turned away only when there is none.
function run(client)
  for number = client.number, orders, client.count do
    local article = number * 7919 % articles + 1
    local changed = checked('UPDATE stock SET pieces = pieces - 1, sold = sold + 1 WHERE article = ? AND pieces > 0', article)
    if changed == 0 then
      local rows = checked('SELECT pieces FROM stock WHERE article = ?', article)
      kv.expect(rows[1].pieces == 0, 'an order was turned away, and the pieces were there')
    end
  end
end

function answer()
  for _, row in ipairs(checked('SELECT article, pieces, sold FROM stock ORDER BY article')) do
    kv.expect(row.pieces >= 0 and row.pieces + row.sold == pieces, 'pieces of article ' .. row.article .. ' were lost or sold twice')
    kv.say(row.article, row.sold)
  end
end
