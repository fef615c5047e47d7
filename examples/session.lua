-- Sessions of a web application: each visitor logs in, is seen a few times, and some log out.

local visitors = kv.param('visitors', 200, 'sessions, over all clients')
local visits = kv.param('visits', 5, 'pages each visitor looks at')

-- run(client) is called once per client. A client has a number, from 1 to client.count.
function run(client)
  for visitor = client.number, visitors, client.count do
    local key = ('session:%06d'):format(visitor)
    kv.put(key, json.encode({ visitor = visitor, visits = 0, cart = {} }))
    for visit = 1, visits do
      -- kvtrial knows what was put here last, and checks what the store says.
      local session = json.decode(kv.get(key))
      session.visits = session.visits + 1
      session.cart[#session.cart + 1] = 'item' .. kv.random(1000)
      kv.put(key, json.encode(session))
    end
    if visitor % 4 == 0 then
      kv.delete(key)
    end
  end
end

-- Read back after the clock. The lines make the answer's digest, which must be equal on every store.
function answer()
  for key in kv.keys() do
    local session = json.decode(kv.get(key))
    kv.expect(session.visits == visits, key .. ' has lost a visit')
    kv.say(key, session.visits)
  end
end
