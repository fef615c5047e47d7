-- A leaderboard with ties: players score, and the best ten are read in order while others still play. Needs scans.

local players = kv.param('players', 300, 'players, over all clients')
local rounds = kv.param('rounds', 10, 'rounds each player plays')

-- Keys are read in byte order. The best comes first where the key begins with what is missing to the highest score; players with the
-- same score follow by name, which settles ties.
local MOST = 999999
local function place(score, player) return ('board:%06d:%s'):format(MOST - score, player) end

function run(client)
  for number = client.number, players, client.count do
    local player, score = ('player%04d'):format(number), 0
    for round = 1, rounds do
      local won = (number * 7919 + round * 104729) % 50
      if score > 0 or round > 1 then kv.delete(place(score, player)) end
      score = score + won
      kv.put(place(score, player), player)
      kv.put('score:' .. player, ('%d'):format(score))
    end
    local best = kv.scan('board:', 10)
    for at = 2, #best do
      kv.expect(best[at - 1].key < best[at].key, 'the board is out of order')
    end
  end
end

function answer()
  local rank, shown, before = 0, 0, nil
  kv.scan('board:', 'board;', function(key, player)
    local score = MOST - tonumber(key:sub(7, 12))
    shown = shown + 1
    if score ~= before then rank = shown end -- players with one score share a rank
    before = score
    kv.say(('%06d'):format(rank), player, score)
  end)
  kv.expect(shown == players, 'the board has ' .. shown .. ' players, not ' .. players)
end
