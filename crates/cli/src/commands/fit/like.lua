local function one_of(list) return list[kv.random(#list)] end

local function put(key)
  local value = ('x'):rep(one_of(sizes))
  if kv.random() < mortal then kv.put(key, value, { ttl = one_of(lives) }) else kv.put(key, value) end -- lives
  kv.put(key, value) -- lasts
end

-- How many requests ago the key was asked for.
local function distance()
  local weight, low, high = kv.random() * distances[#distances][3], 1, #distances
  while low < high do
    local middle = math.floor((low + high) / 2)
    if distances[middle][3] <= weight then low = middle + 1 else high = middle end
  end
  local from, to = distances[low][1], distances[low][2]
  return from + math.floor((to - from) * kv.random())
end

-- Each client makes the like by itself, with keys of its own.
function run(client)
  local own = math.floor((requests - client.number) / client.count) + 1
  local drawn, last, states, count, most = {}, {}, {}, 0, math.ceil(keys * own / of_requests)
  for at = 1, own do
    local id = count + 1
    local is_full = count >= most
    if at > 1 and (is_full or kv.random() >= new_keys) then
      -- A key that was not asked for since; where none is found, any.
      id = drawn[kv.random(at - 1)]
      for _ = 1, 16 do
        local ago = distance()
        if ago < at then
          id = drawn[at - ago]
          if last[id] == at - ago then break end
        elseif not is_full then
          -- What was asked for before the first request is new.
          id = count + 1
          break
        end
      end
    end
    count = math.max(count, id)
    drawn[at], last[id] = id, at
    local key, kind = ('k%d:%0' .. width .. 'd'):format(client.number, id), kv.random()
    local before = states[id] or 'new'
    local is_there, mix = before == 'set' or before == 'hit' or before == 'touched', mixes[before]
    if kind < mix.sets then
      put(key)
      states[id] = 'set'
    elseif kind < mix.sets + mix.deletes then
      kv.delete(key)
      states[id] = 'deleted'
    elseif kind < mix.sets + mix.deletes + mix.touches then
      kv.touch(key, one_of(lives)) -- lives
      kv.get(key) -- lasts
      states[id] = is_there and 'touched' or 'missed'
    elseif kv.get(key) then
      states[id] = 'hit'
    elseif fills then
      put(key)
      states[id] = 'set'
    else
      states[id] = 'missed'
    end
  end
end

-- Of keys that may be over nothing more is said.
function answer()
  for key in kv.keys() do kv.say(key) end
end
