-- A leaderboard with ties: players score, then the board is made, and players with one score share a rank.

local players = kv.param('players', 300, 'players, over all clients')
local rounds = kv.param('rounds', 10, 'rounds each player plays')
local most = kv.param('most', 20, 'the highest score of a round')

phases = { 'play', 'rank' } -- both on the clock, one after the other

local function name(number) return ('player%04d'):format(number) end
local function place(score) return ('board:%06d'):format(score) end

-- Each client plays for its own players: the key of a score has one writer.
function play(client)
  for number = client.number, players, client.count do
    local key = 'score:' .. name(number)
    for round = 1, rounds do
      local won = (number * 7919 + round * 104729) % (most + 1)
      local score = tonumber(kv.get(key) or 0) + won
      kv.put(key, ('%d'):format(score))
    end
  end
end

-- A place on the board holds the names of all who have that score. Every client reads all scores, and writes the places it owns.
function rank(client)
  local places = {}
  for first = 1, players, 50 do
    local keys = {}
    for number = first, math.min(first + 49, players) do keys[#keys + 1] = 'score:' .. name(number) end
    local scores = kv.get_many(keys)
    for at = 1, #keys do
      local key = place(tonumber(scores[at]))
      if client:owns(key) then
        places[key] = places[key] or {}
        table.insert(places[key], name(first + at - 1))
      end
    end
  end
  for key, names in pairs(places) do kv.put(key, json.encode(names)) end
end

-- From the best down. The answer does not depend on who was first, so it is the same on every store.
function answer()
  local before = 0
  for score = most * rounds, 0, -1 do
    local names = kv.get(place(score))
    if names then
      for _, player in ipairs(json.decode(names)) do kv.say(('%06d'):format(before + 1), player, score) end
      before = before + #json.decode(names)
    end
  end
  kv.expect(before == players, 'the board has ' .. before .. ' players and must have ' .. players)
end
