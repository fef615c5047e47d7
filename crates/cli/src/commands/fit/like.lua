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
  local drawn, last, held, count = {}, {}, {}, 0
  for at = 1, own do
    local id = count + 1
    if at > 1 and kv.random() >= new_keys then
      -- Not a key that was asked for since.
      for _ = 1, 16 do
        local ago = distance()
        local before = drawn[at - ago]
        if before then
          id = before
          if last[before] == at - ago then break end
        end
      end
    end
    count = math.max(count, id)
    drawn[at], last[id] = id, at
    local key, kind = ('k%d:%0' .. width .. 'd'):format(client.number, id), kv.random()
    local mix = held[id] and there or absent
    if kind < mix.sets then
      put(key)
      held[id] = true
    elseif kind < mix.sets + mix.deletes then
      kv.delete(key)
      held[id] = nil
    elseif kind < mix.sets + mix.deletes + mix.touches then
      kv.touch(key, one_of(lives)) -- lives
      kv.get(key) -- lasts
    elseif not kv.get(key) and fills then
      put(key)
      held[id] = true
    end
  end
end

-- Of keys that may be over nothing more is said.
function answer()
  for key in kv.keys() do kv.say(key) end
end
