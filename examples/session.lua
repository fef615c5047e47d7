-- Sessions of a web application: visitors log in and look at pages; a session is forgotten some time after its last change.

local visitors = kv.param('visitors', 200, 'sessions, over all clients')
local visits = kv.param('visits', 5, 'changes of each session, each after four pages that only read it')
local ttl = kv.param('ttl', 1800, 'seconds that a session lives after its last change')
local bytes = kv.param('bytes', 2000, 'bytes of what a session holds beside the cart')

-- run(client) is called once per client. A client has a number, from 1 to client.count.
function run(client)
  local profile = ('x'):rep(bytes)
  for visitor = client.number, visitors, client.count do
    local key = ('session:%06d'):format(visitor)
    kv.put(key, json.encode({ visitor = visitor, visits = 0, cart = {}, profile = profile }), { ttl = ttl })
    for _ = 1, visits do
      local session
      -- kvtrial knows what was put here last and how long it lives, and checks what the store says.
      for _ = 1, 4 do session = kv.get(key) end
      -- A visitor whose session is over logs in again.
      session = session and json.decode(session) or { visitor = visitor, visits = 0, cart = {}, profile = profile }
      session.visits = session.visits + 1
      session.cart[#session.cart + 1] = 'item' .. kv.random(1000)
      kv.put(key, json.encode(session), { ttl = ttl })
    end
    if visitor % 4 == 0 then
      kv.delete(key)
    end
  end
end

-- Read back after the clock. The lines make the answer's digest, which must be equal on every store; so they say nothing of sessions that may be over.
function answer()
  for key in kv.keys() do
    local session = kv.get(key)
    if session then
      kv.expect(json.decode(session).visits <= visits, key .. ' has more visits than there were')
    end
    kv.say(key)
  end
end
