-- A rate limiter: all clients ask for the same few accounts, each of which may do a number of requests per window.

kv.shared(true) -- all clients count on the same counters; their sums are checked to the last request

local accounts = kv.param('accounts', 10, 'accounts')
local requests = kv.param('requests', 2000, 'requests, over all clients')
local limit = kv.param('limit', 120, 'requests an account may do per window')
local windows = kv.param('windows', 2, 'windows')

local function name(account, window) return ('limit:%03d:%03d'):format(account, window) end

function run(client)
  for request = client.number, requests, client.count do
    local account, window = request % accounts, math.floor((request - 1) * windows / requests)
    local count = kv.increment(name(account, window), 1)
    kv.expect(count >= 1 and count <= requests, 'a counter is out of range')
  end
end

-- How many were let through and how many refused does not depend on who came first.
function answer()
  for account = 0, accounts - 1 do
    for window = 0, windows - 1 do
      local count = kv.get_counter(name(account, window)) or 0
      kv.say(name(account, window), math.min(count, limit), math.max(count - limit, 0))
    end
  end
end
