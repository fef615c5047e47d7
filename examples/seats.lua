-- Seats sold by a Lua function on the server: it looks and books in one step, so no seat is sold twice. A cluster needs EVAL instead,
-- as FUNCTION LOAD reaches one node.

local shows = kv.param('shows', 20, 'shows')
local seats = kv.param('seats', 50, 'seats of each show')
local buyers = kv.param('buyers', 2000, 'buyers, over all clients')

local library = [[#!lua name=kvtrial_seats
redis.register_function('kvtrial_book', function(keys, args)
  local sold = redis.call('HLEN', keys[1])
  if sold >= tonumber(args[1]) or redis.call('HSETNX', keys[1], args[2], sold + 1) == 0 then return 0 end
  return sold + 1
end)
]]

local function show(number) return ('show:%03d'):format(number) end

function load(client)
  if client.number == 1 then
    local name, failed = kv.command('FUNCTION', 'LOAD', 'REPLACE', library)
    kv.expect(name, failed)
  end
end

-- Every buyer wants a seat of one show; the seat they get has a number, or is 0 when the show is sold out.
function run(client)
  for number = client.number, buyers, client.count do
    local key = show(number % shows + 1)
    local seat, failed = kv.command('FCALL', 'kvtrial_book', 1, key, seats, ('buyer%05d'):format(number))
    kv.expect(seat, failed)
  end
end

function answer()
  for number = 1, shows do
    local sold = kv.command('HVALS', show(number))
    local taken = {}
    for _, seat in ipairs(sold) do
      kv.expect(not taken[seat] and tonumber(seat) <= seats, 'seat ' .. seat .. ' of ' .. show(number) .. ' was sold twice')
      taken[seat] = true
    end
    kv.say(show(number), #sold)
  end
end
