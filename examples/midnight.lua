-- A crowd of keys that all end within one second, while others are read: what does a store do then?

local crowd = kv.param('crowd', 2000, 'keys that end together, over all clients')
local others = kv.param('others', 500, 'keys that last and are read meanwhile, over all clients')
local life = kv.param('life', 10, 'seconds from the first put of a client to the end of the crowd')
local bytes = kv.param('bytes', 100, 'bytes of a value')
local reads = kv.param('reads', 1000, 'reads of a client, where the run has no --set seconds=')

local value = ('x'):rep(bytes)

-- Off the clock. A script has no clock, but a key with a time to live is one: the others end when it does, in whole seconds, which every store counts.
function load(client)
  local clock = 'clock:' .. client.number
  kv.put(clock, value, { ttl = life })
  for number = client.number, others, client.count do
    kv.put(('lasts:%08d'):format(number), value)
  end
  local left = life
  for number = client.number, crowd, client.count do
    if (number - client.number) / client.count % 100 == 0 then
      left = math.ceil(kv.ttl(clock) or 0)
      kv.expect(left > 1, 'the crowd ends before all of it is there; set life higher')
    end
    kv.put(('crowd:%08d'):format(number), value, { ttl = math.max(left, 2) })
  end
end

function run(client)
  for _ = 1, reads do
    kv.get(('lasts:%08d'):format(kv.random(others)))
  end
end

function answer()
  kv.say(crowd, others)
end
