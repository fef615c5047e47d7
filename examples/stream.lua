-- Orders in a stream of the server, which a group of consumers handles: each order goes to one of them, and is acknowledged.

local orders = kv.param('orders', 1000, 'orders, over all clients')
local batch = kv.param('batch', 10, 'orders a consumer asks for at once')

phases = { 'load', 'produce', 'consume' } -- the last two are on the clock

function load(client)
  if client.number == 1 then kv.command('XGROUP', 'CREATE', 'orders', 'workers', 0, 'MKSTREAM') end
end

function produce(client)
  for number = client.number, orders, client.count do
    local id, failed = kv.command('XADD', 'orders', '*', 'amount', number * 7919 % 100 + 1)
    kv.expect(id, failed)
  end
end

-- Until there is no order left that nobody has: the server then answers nil.
function consume(client)
  local me = 'worker' .. client.number
  while true do
    local found, failed = kv.command('XREADGROUP', 'GROUP', 'workers', me, 'COUNT', batch, 'STREAMS', 'orders', '>')
    kv.expect(not failed, failed)
    if not found then return end
    local entries = found[1][2]
    local ids, amount = {}, 0
    for at = 1, #entries do
      ids[at] = entries[at][1]
      amount = amount + tonumber(entries[at][2][2])
    end
    kv.command('INCRBY', 'amount', amount)
    kv.expect(kv.command('XACK', 'orders', 'workers', unpack(ids)) == #ids, 'an order was acknowledged twice')
  end
end

function answer()
  local amount, pending = 0, kv.command('XPENDING', 'orders', 'workers')
  for number = 1, orders do amount = amount + number * 7919 % 100 + 1 end
  kv.expect(tonumber(kv.command('GET', 'amount')) == amount, 'an order was handled twice or never')
  kv.say('orders', kv.command('XLEN', 'orders'))
  kv.say('amount', amount)
  kv.say('pending', pending[1])
end
