-- Functions of Lua's own that call the script's: written in Lua, so that verbs of kv may wait within them, and recursion through them ends in
-- an error. And whole numbers of JSON that Lua's numbers cannot hold.
local host = ...
local type, error, pcall, select, ipairs, tostring = type, error, pcall, select, ipairs, tostring
local concat, sub, min, huge = table.concat, string.sub, math.min, math.huge
local next_match, replaced = host.next_match, host.replaced

local function needs(number, name, wanted, value)
  error("bad argument #" .. number .. " to '" .. name .. "' (" .. wanted .. ' expected, got ' .. (value == nil and 'no value' or type(value)) .. ')', 3)
end

local function is_text(value) return type(value) == 'string' or type(value) == 'number' end

function string.gsub(text, pattern, by, most)
  if not is_text(text) then needs(1, 'gsub', 'string', text) end
  if not is_text(pattern) then needs(2, 'gsub', 'string', pattern) end
  if most ~= nil and type(most) ~= 'number' then needs(4, 'gsub', 'number', most) end
  most = most or huge
  if is_text(by) then return replaced(text, pattern, by, most) end
  local calls = type(by) == 'function'
  if not calls and type(by) ~= 'table' then needs(3, 'gsub', 'string/function/table', by) end
  text, pattern = tostring(text), tostring(pattern)
  local once = sub(pattern, 1, 1) == '^'
  local pieces, count, copied, from = {}, 0, 1, 1
  local function put(start, behind, ...)
    if not start then return false end
    local new
    if calls then new = by(...) else new = by[(...)] end
    local old = sub(text, start, behind - 1)
    if not new then new = old elseif not is_text(new) then error('invalid replacement value (a ' .. type(new) .. ')', 3) end
    pieces[#pieces + 1], pieces[#pieces + 2] = sub(text, copied, start - 1), new
    count, copied, from = count + 1, behind, behind > start and behind or behind + 1
    return not once and from <= #text + 1
  end
  while count < most and put(next_match(text, pattern, from)) do end
  pieces[#pieces + 1] = sub(text, copied)
  return concat(pieces), count
end

-- The handler runs when the error has been caught: within it a loop could not be ended, nor a verb wait.
function xpcall(act, handler, ...)
  local function caught(good, ...)
    if good then return true, ... end
    return false, select(2, pcall(handler, (...)))
  end
  return caught(pcall(act, ...))
end

local function ascends(a, b) return a < b end

-- Merges runs of 1, 2, 4, ... entries.
function table.sort(list, less)
  if type(list) ~= 'table' then needs(1, 'sort', 'table', list) end
  if less ~= nil and type(less) ~= 'function' then needs(2, 'sort', 'function', less) end
  less = less or ascends
  local count, from, to, width = #list, {}, {}, 1
  for at = 1, count do from[at] = list[at] end
  while width < count do
    for low = 1, count, 2 * width do
      local left, right, at = low, low + width, low
      local middle, last = min(right, count + 1), min(right + width, count + 1)
      while left < middle and right < last do
        if less(from[right], from[left]) then
          to[at], right = from[right], right + 1
        else
          to[at], left = from[left], left + 1
        end
        at = at + 1
      end
      while left < middle do to[at], left, at = from[left], left + 1, at + 1 end
      while right < last do to[at], right, at = from[right], right + 1, at + 1 end
    end
    from, to, width = to, from, 2 * width
  end
  for at = 1, count do list[at] = from[at] end
end

-- A whole number of JSON from 2^53 on: its digits. It can be written as text, compared for being the same, and used as the key of a table.
local exact = { __metatable = 'a whole number', __tostring = host.digits }

function exact.__concat(a, b)
  for _, value in ipairs({ a, b }) do
    if not is_text(value) and not host.digits(value) then error('attempt to concatenate a ' .. type(value) .. ' value', 2) end
  end
  return tostring(a) .. tostring(b)
end

for _, name in ipairs({ 'add', 'sub', 'mul', 'div', 'mod', 'pow', 'unm', 'lt', 'le' }) do
  exact['__' .. name] = function(a, b)
    local digits = host.digits(a) or host.digits(b)
    error(digits .. ' is a whole number beyond 2^53, with which Lua cannot calculate. tostring() gives its digits; a sum of counts can be '
      .. 'made with json.add()', 2)
  end
end
return exact
