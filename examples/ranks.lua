-- A leaderboard with ties by a sorted set of the server: what leaderboard.lua does with gets and puts, with the same answer.

local players = kv.param('players', 300, 'players, over all clients')
local rounds = kv.param('rounds', 10, 'rounds each player plays')
local most = kv.param('most', 20, 'the highest score of a round')

phases = { 'play', 'rank' } -- both on the clock, one after the other

local function name(number) return ('player%04d'):format(number) end

-- All clients write one key: the server adds, so nothing is lost.
function play(client)
  for number = client.number, players, client.count do
    for round = 1, rounds do
      local won = (number * 7919 + round * 104729) % (most + 1)
      local score, failed = kv.command('ZINCRBY', 'board', won, name(number))
      kv.expect(score, failed)
    end
  end
end

-- The board is there already: each client asks for the place of its players.
function rank(client)
  for number = client.number, players, client.count do
    local place, failed = kv.command('ZREVRANK', 'board', name(number))
    kv.expect(place, failed)
  end
end

-- From the best down; players with one score share a rank.
function answer()
  local board = kv.command('ZREVRANGE', 'board', 0, -1, 'WITHSCORES')
  local before, place
  for at = 1, #board, 2 do
    local score = tonumber(board[at + 1])
    if score ~= before then before, place = score, (at + 1) / 2 end
    kv.say(('%06d'):format(place), board[at], score)
  end
  kv.expect(#board == 2 * players, 'the board has ' .. #board / 2 .. ' players and must have ' .. players)
end
