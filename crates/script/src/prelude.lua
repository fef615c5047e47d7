-- What every script finds: the verbs of kv, json, and libraries without a way out. It gives the function that opens a client: a
-- world of its own, in which the script's text is run, and the function of its coroutine. GET, PUT and so on are locals from ask.rs.
local host, chunk = ...
local yield, error, type, tostring, tonumber = coroutine.yield, error, type, tostring, tonumber
local setmetatable, setfenv, next, pairs, ipairs, select, floor = setmetatable, setfenv, next, pairs, ipairs, select, math.floor
local getmetatable, rawget, max, min = getmetatable, rawget, math.max, math.min
local native, limit = host.native, host.limit
local concat, unpack = table.concat, unpack

local function refuse(words)
  return function() error(words, 2) end
end

local function closed(name, why)
  return setmetatable({}, {
    __index = function(_, field) error(name .. '.' .. tostring(field) .. ' is not there: ' .. why, 2) end,
    __newindex = function() error(name .. ' is not there: ' .. why, 2) end,
  })
end

local nothing = 'a script has no files, processes, network or clock'
local remedies = {
  number = '. Write it as text with tostring() or string.format()',
  userdata = '. Write it as text with tostring()',
  table = '. Write it as text with json.encode()',
  ['nil'] = '',
}

-- From 2^53 on Lua's numbers have gaps, so that two counts or ids would be one.
local gaps = 2 ^ 53

local function wrong(verb, argument, value)
  if type(value) == 'table' and rawget(value, 'get') and rawget(value, 'put') then
    error(verb .. ': call it with a dot, ' .. verb .. '(...), not with a colon', 3)
  end
  error(verb .. ': the ' .. argument .. ' is a ' .. type(value) .. ' and must be a string' .. (remedies[type(value)] or ''), 3)
end

-- There is an argument more than a verb takes.
local function surplus(verb, wanted, value)
  local shown = type(value) == 'number' and tostring(value) or 'a ' .. type(value)
  error(verb .. ' takes ' .. wanted .. ', and there is one argument more: ' .. shown .. '. Leave it out; a call that gives two results needs '
    .. 'brackets of its own, as in ((s:gsub(a, b)))', 3)
end

local function whole(verb, argument, value, level)
  level = level or 3
  if type(value) ~= 'number' then
    local remedy = type(value) == 'string' and '. Make it a number with tonumber()' or ''
    error(verb .. ': the ' .. argument .. ' must be a whole number and is a ' .. type(value) .. remedy, level)
  elseif value ~= value then
    error(verb .. ': the ' .. argument .. ' must be a whole number and is nan. Look for a division by 0', level)
  elseif value >= gaps or value <= -gaps then
    error(verb .. ': the ' .. argument .. ' must be below 2^53, up to where Lua has all whole numbers, and is ' .. tostring(value), level)
  elseif value ~= floor(value) then
    error(verb .. ': the ' .. argument .. ' must be a whole number and is ' .. tostring(value) .. '. Round it with math.floor()', level)
  end
end

-- A count of the store's, which a number of Lua's must be able to hold.
local function counted(verb, count)
  if count and (count >= gaps or count <= -gaps) then
    error(verb .. ": the counter is at 2^53 or beyond, where Lua's numbers have gaps. Count in smaller steps, or in several counters", 3)
  end
  return count
end

local function strings(verb, what, list)
  if type(list) ~= 'table' then error(verb .. ': a list of ' .. what .. ' is needed, this is a ' .. type(list), 3) end
  local count = 0
  for _ in next, list do count = count + 1 end
  for at = 1, count do
    if type(list[at]) ~= 'string' then
      if list[at] == nil then error(verb .. ': a list of ' .. what .. ' is needed, and this table has no entry ' .. at, 3) end
      wrong(verb, what .. ' ' .. at, list[at])
    end
  end
end

-- Verbs -----------------------------------------------------------------------------------------------------------------------------
local verbs = {}

function verbs.get(key, more)
  if type(key) ~= 'string' then wrong('kv.get', 'key', key) end
  if more ~= nil then surplus('kv.get', 'a key', more) end
  return yield(GET, key)
end

-- A time to live, given in seconds, as whole milliseconds.
local function lifetime(verb, ttl)
  if type(ttl) ~= 'number' then error(verb .. ': the ttl is a ' .. type(ttl) .. ' and must be a number of seconds', 3) end
  local ms = floor(ttl * 1000 + 0.5)
  if not (ms >= 1) then error(verb .. ': the ttl must be above 0 and is ' .. tostring(ttl) .. '. Use kv.delete to remove a key', 3) end
  if ms > host.ttl.most_ms then
    error(verb .. ': the ttl is ' .. tostring(ttl) .. ' s, and this store takes at most ' .. host.ttl.most_ms / 1000, 3)
  elseif ms < host.ttl.least_ms then
    error(verb .. ': the ttl is ' .. tostring(ttl) .. ' s, and this store takes at least ' .. host.ttl.least_ms / 1000 .. ' s', 3)
  elseif ms % host.ttl.grain_ms ~= 0 then
    error(verb .. ': the ttl is ' .. tostring(ttl) .. ' s, and this store counts in steps of ' .. host.ttl.grain_ms / 1000 .. ' s', 3)
  end
  return ms
end

function verbs.put(key, value, options, more)
  if type(key) ~= 'string' then wrong('kv.put', 'key', key) end
  if type(value) ~= 'string' then wrong('kv.put', 'value', value) end
  if options == nil then return yield(PUT, key, value) end
  if type(options) ~= 'table' then
    error('kv.put takes a key and a value, and options such as {ttl = 60}; the third argument is a ' .. type(options), 2)
  end
  if more ~= nil then surplus('kv.put', 'a key, a value and options such as {ttl = 60}', more) end
  for name in next, options do
    if name ~= 'ttl' then error("kv.put has no option '" .. tostring(name) .. "'; it has ttl, in seconds", 2) end
  end
  if options.ttl == nil then return yield(PUT, key, value) end
  return yield(PUT_TTL, key, value, lifetime('kv.put', options.ttl))
end

function verbs.touch(key, ttl, more)
  if type(key) ~= 'string' then wrong('kv.touch', 'key', key) end
  local ms = lifetime('kv.touch', ttl)
  if more ~= nil then surplus('kv.touch', 'a key and a ttl in seconds', more) end
  if native.touch then return yield(TOUCH, key, ms) end
  local value, failed = yield(GET, key)
  if failed then return nil, failed end
  if value == nil then return false end
  local _, lost = yield(PUT_TTL, key, value, ms)
  if lost then return nil, lost end
  return true
end

function verbs.ttl(key, more)
  if type(key) ~= 'string' then wrong('kv.ttl', 'key', key) end
  if more ~= nil then surplus('kv.ttl', 'a key', more) end
  return yield(TIME_LEFT, key)
end

function verbs.delete(key, more)
  if type(key) ~= 'string' then wrong('kv.delete', 'key', key) end
  if more ~= nil then surplus('kv.delete', 'a key', more) end
  return yield(DELETE, key)
end

function verbs.append(key, value, more)
  if type(key) ~= 'string' then wrong('kv.append', 'key', key) end
  if type(value) ~= 'string' then wrong('kv.append', 'value', value) end
  if more ~= nil then surplus('kv.append', 'a key and a value', more) end
  if native.append then return yield(APPEND, key, value) end
  local before, failed = yield(GET, key)
  if failed then return nil, failed end
  return yield(PUT, key, (before or '') .. value)
end

function verbs.increment(key, by, more)
  if type(key) ~= 'string' then wrong('kv.increment', 'key', key) end
  if by == nil then by = 1 end
  whole('kv.increment', 'step', by)
  if more ~= nil then surplus('kv.increment', 'a key and a step', more) end
  if native.increment then
    local count, failed = yield(INCREMENT, key, by)
    if failed then return nil, failed end
    return (counted('kv.increment', count))
  end
  local before, failed = yield(GET, key)
  if failed then return nil, failed end
  local sum = counted('kv.increment', (tonumber(before) or 0) + by)
  local _, lost = yield(PUT, key, ('%d'):format(sum))
  if lost then return nil, lost end
  return sum
end

function verbs.get_counter(key, more)
  if type(key) ~= 'string' then wrong('kv.get_counter', 'key', key) end
  if more ~= nil then surplus('kv.get_counter', 'a key', more) end
  if native.increment then
    local count, failed = yield(GET_COUNTER, key)
    if failed then return nil, failed end
    return (counted('kv.get_counter', count))
  end
  local text, failed = yield(GET, key)
  if failed then return nil, failed end
  return text and (counted('kv.get_counter', tonumber(text)))
end

function verbs.increment_field(key, field, by, more)
  if type(key) ~= 'string' then wrong('kv.increment_field', 'key', key) end
  if type(field) ~= 'string' then wrong('kv.increment_field', 'field', field) end
  if by == nil then by = 1 end
  whole('kv.increment_field', 'step', by)
  if more ~= nil then surplus('kv.increment_field', 'a key, a field and a step', more) end
  local count, failed = yield(INCREMENT_FIELD, key, field, by)
  if failed then return nil, failed end
  return (counted('kv.increment_field', count))
end

function verbs.get_fields(key, more)
  if type(key) ~= 'string' then wrong('kv.get_fields', 'key', key) end
  if more ~= nil then surplus('kv.get_fields', 'a key', more) end
  local names, counts = yield(GET_FIELDS, key)
  if not names then return nil, counts end
  local fields = {}
  for at = 1, #names do fields[names[at]] = counted('kv.get_fields', tonumber(counts[at])) end
  return fields
end

function verbs.cas(key, expected, value, more)
  if type(key) ~= 'string' then wrong('kv.cas', 'key', key) end
  if expected ~= nil and type(expected) ~= 'string' then wrong('kv.cas', 'expected value', expected) end
  if type(value) ~= 'string' then wrong('kv.cas', 'value', value) end
  if more ~= nil then surplus('kv.cas', 'a key, the expected value and a value', more) end
  local found, version, failed = yield(GET_VERSIONED, key)
  if failed then return nil, failed end
  if found ~= expected then return false end
  return yield(CAS, key, value, version, found)
end

local function get_many(verb, keys, more)
  strings(verb, 'key', keys)
  if more ~= nil then surplus(verb, 'a list of keys', more) end
  if #keys == 0 then return {} end
  local found, values = {}, nil
  if native.get_many and #keys > 1 then
    local names
    names, values = yield(GET_MANY, keys)
    if not names then return nil, values end
    local by_name = {}
    for at = 1, #names do by_name[names[at]] = values[at] end
    for at = 1, #keys do found[at] = by_name[keys[at]] end
  else
    local asked = {}
    for at = 1, #keys do asked[at] = keys[at] end
    for at = 1, #asked do
      local value, failed = yield(GET, asked[at])
      if failed then return nil, failed end
      found[at] = value
    end
  end
  return found
end

local in_pairs = { key = true, value = true, val = true }

-- A table of pairs, or a list of tables with key and value (or val).
local function put_many(verb, pairs_given, more)
  if type(pairs_given) ~= 'table' then error(verb .. ': a table of pairs is needed, this is a ' .. type(pairs_given), 2) end
  if more ~= nil then surplus(verb, 'a table of pairs', more) end
  local keys, values, count = {}, {}, 0
  for key in next, pairs_given do keys[#keys + 1] = key end
  if pairs_given[1] then
    for at = 1, #keys do
      local pair = pairs_given[at]
      if type(pair) ~= 'table' then error(verb .. ': entry ' .. at .. ' is a ' .. type(pair) .. ' and must be {key =, value =}', 2) end
      for name in next, pair do
        if not in_pairs[name] then
          error(verb .. ': entry ' .. at .. " has '" .. tostring(name) .. "' and must be {key =, value =}", 2)
        end
      end
      keys[at], values[at] = pair.key, pair.value or pair.val
      count = at
    end
  else
    strings(verb, 'key', keys)
    table.sort(keys)
    count = #keys
    for at = 1, count do values[at] = pairs_given[keys[at]] end
  end
  for at = 1, count do
    if type(keys[at]) ~= 'string' then wrong(verb, 'key ' .. at, keys[at]) end
    if type(values[at]) ~= 'string' then wrong(verb, 'value ' .. at, values[at]) end
  end
  if #keys == 0 then return end
  if native.put_many and #keys > 1 then return yield(PUT_MANY, keys, values) end
  for at = 1, #keys do
    local _, failed = yield(PUT, keys[at], values[at])
    if failed then return nil, failed end
  end
end

function verbs.get_many(keys, more) return get_many('kv.get_many', keys, more) end
function verbs.put_many(list, more) return put_many('kv.put_many', list, more) end

local function pages(lo, hi, most, each)
  local start, left, page = lo, most, 32
  while left > 0 do
    local asked = min(left, page)
    local names, values = yield(SCAN, start, asked)
    if not names then return values end
    for at = 1, #names do
      if hi and names[at] >= hi then return end
      if each(names[at], values[at]) then return end
      left = left - 1
    end
    if #names < asked then return end
    start = names[#names] .. '\0'
    page = min(page * 2, 1024)
  end
end

local function rows(lo, hi, most, field)
  local found = {}
  local failed = pages(lo, hi, most, function(key, value) found[#found + 1] = { key = key, [field] = value } end)
  if failed then return nil, failed end
  return found
end

local function bounds(verb, lo, hi, most)
  if type(lo) ~= 'string' then wrong(verb, 'first key', lo) end
  if hi ~= nil and type(hi) ~= 'string' then wrong(verb, 'key behind the last', hi) end
  if most ~= nil then whole(verb, 'limit', most, 4) end
  return (most == nil or most <= 0) and math.huge or most
end

-- kv.scan(start, limit) gives rows; kv.scan(lo, hi, each, limit) calls each(key, value) for each row from lo to before hi.
function verbs.scan(start, second, each, most, more)
  if type(second) == 'string' then
    most = bounds('kv.scan', start, second, most)
    if more ~= nil then surplus('kv.scan', 'two keys, a function and a limit', more) end
    if type(each) ~= 'function' then error('kv.scan: after the two keys a function is needed, this is a ' .. type(each), 2) end
    local seen = {}
    local failed = pages(start, second, most, function(key, value) seen[#seen + 1], seen[#seen + 2] = key, value end)
    if failed then return nil, failed end
    for at = 1, #seen, 2 do
      if each(seen[at], seen[at + 1]) then return (at + 1) / 2 end
    end
    return #seen / 2
  end
  if type(start) ~= 'string' then wrong('kv.scan', 'first key', start) end
  whole('kv.scan', 'limit', second)
  if each ~= nil or most ~= nil then surplus('kv.scan', 'a first key and a limit', each or most) end
  if second < 1 then error('kv.scan: the limit must be 1 or more and is ' .. second, 2) end
  if second >= 2 ^ 32 then error('kv.scan: the limit must be below 2^32 and is ' .. second, 2) end
  local names, values = yield(SCAN, start, second)
  if not names then return nil, values end
  local found = {}
  for at = 1, #names do found[at] = { key = names[at], value = values[at] } end
  return found
end

-- Numbers among the words of a command as the server reads them.
local function worded(...)
  local words, count = { ... }, select('#', ...)
  for at = 1, count do
    local word = words[at]
    if type(word) == 'number' then
      if word ~= word then error('kv.command: argument ' .. at .. ' is nan. Look for a division by 0', 3) end
      words[at] = (word == floor(word) and word > -gaps and word < gaps) and ('%d'):format(word) or ('%.17g'):format(word)
    elseif type(word) ~= 'string' then
      wrong('kv.command', 'argument ' .. at, word)
    end
  end
  return unpack(words, 1, count)
end

-- Why a command may not be sent, by its name: words; true: that depends on its arguments; false: it may.
local refusals = setmetatable({}, {
  __index = function(known, name)
    local has_forms, words = host.refusal(name)
    known[name] = words or has_forms
    return known[name]
  end,
})

function verbs.command(name, ...)
  if type(name) ~= 'string' then wrong('kv.command', 'name of the command', name) end
  local refused = refusals[name]
  if refused == true then
    local _, words = host.refusal(name, worded(...))
    refused = words
  end
  if refused then error('kv.command: ' .. refused, 2) end
  for at = 1, select('#', ...) do
    if type((select(at, ...))) ~= 'string' then return yield(COMMAND, name, worded(...)) end
  end
  return yield(COMMAND, name, ...)
end

-- Why a statement may not be sent, by its text: words; false: it may. At most 1,000 texts are remembered: a script may make a new one each time.
local known, statements = 0, {}
local function refused_sql(text)
  local words = statements[text]
  if words == nil then
    words = host.sql_refusal(text) or false
    if known == 1000 then known, statements = 0, {} end
    known, statements[text] = known + 1, words
  end
  return words
end

function verbs.sql(text, ...)
  if type(text) ~= 'string' then wrong('kv.sql', 'statement', text) end
  local refused = refused_sql(text)
  if refused then error('kv.sql: ' .. refused, 2) end
  for at = 1, select('#', ...) do
    local value = (select(at, ...))
    local kind = type(value)
    if value ~= value then error('kv.sql: parameter ' .. at .. ' is nan. Look for a division by 0', 2) end
    if kind ~= 'string' and kind ~= 'number' and kind ~= 'boolean' and kind ~= 'nil' then wrong('kv.sql', 'parameter ' .. at, value) end
  end
  return yield(SQL, text, ...)
end

-- keybench's verbs.
function verbs.del(key, more)
  if type(key) ~= 'string' then wrong('kv.del', 'key', key) end
  if more ~= nil then surplus('kv.del', 'a key', more) end
  return yield(DELETE, key)
end

function verbs.range(lo, hi, most, more)
  most = bounds('kv.range', lo, hi, most)
  if more ~= nil then surplus('kv.range', 'two keys and a limit', more) end
  return rows(lo, hi, most, 'val')
end

function verbs.mget(keys, more) return get_many('kv.mget', keys, more) end
function verbs.mput(list, more) return put_many('kv.mput', list, more) end

function verbs.mdel(keys, more)
  strings('kv.mdel', 'key', keys)
  if more ~= nil then surplus('kv.mdel', 'a list of keys', more) end
  local asked, gone = {}, 0
  for at = 1, #keys do asked[at] = keys[at] end
  for at = 1, #asked do
    local was_there, failed = yield(DELETE, asked[at])
    if failed then return nil, failed end
    if was_there then gone = gone + 1 end
  end
  return gone
end

-- What is not an operation.
function verbs.expect(truth, why, more)
  if more ~= nil then surplus('kv.expect', 'a truth and the words for when it is none', more) end
  -- After an operation that nobody knows the fate of, a script cannot know what must be true.
  if truth or host.lax or host.gave_up() then return truth end
  why = why or 'an expectation is false'
  host.unexpected(tostring(why))
  error('kv.expect: ' .. tostring(why), 2)
end

function verbs.say(...)
  local fields = {}
  for at = 1, select('#', ...) do
    local field = select(at, ...)
    if type(field) == 'number' and field == floor(field) and field > -gaps and field < gaps then field = ('%d'):format(field) end
    field = tostring(field)
    if field:find('\n', 1, true) then error('kv.say: field ' .. at .. ' has a line end, and a line is a line', 2) end
    fields[at] = field
  end
  host.say(concat(fields, '\t'))
end

function verbs.keys(more)
  if more ~= nil then surplus('kv.keys', 'no argument', more) end
  local at = 0
  return function()
    at = at + 1
    return host.key(at)
  end
end

function verbs.param(name, default, help, more)
  if type(name) ~= 'string' or not name:find('^[%a_][%w_]*$') then error('kv.param: a name is letters, digits and _', 2) end
  if type(default) ~= 'string' and type(default) ~= 'number' then
    error("kv.param('" .. name .. "'): the default must be a number or a string and is a " .. type(default), 2)
  end
  if help ~= nil and type(help) ~= 'string' then
    error("kv.param('" .. name .. "'): the help must be a string and is a " .. type(help), 2)
  end
  if more ~= nil then surplus("kv.param('" .. name .. "')", 'a name, a default and a help', more) end
  local value, problem = host.param(name, tostring(default), help or '')
  if not value then error("kv.param('" .. name .. "'): " .. problem, 2) end
  if type(default) == 'number' then
    local number = tonumber(value)
    if not number or number ~= number then
      error('--set ' .. name .. '=' .. value .. ': it must be a number, as its default ' .. default .. ' is', 0)
    end
    if number == floor(number) and (number >= gaps or number <= -gaps) then
      error('--set ' .. name .. '=' .. value .. ': it must be below 2^53, up to where Lua has all whole numbers', 0)
    end
    return number
  end
  return value
end

function verbs.shared(truth, more)
  if truth ~= nil and type(truth) ~= 'boolean' then error('kv.shared takes true or false, and this is a ' .. type(truth), 2) end
  if more ~= nil then surplus('kv.shared', 'true or false', more) end
  if not host.top() then error('kv.shared is for the top level: it holds for the whole job', 2) end
  host.shared(truth ~= false)
end

function verbs.like(job, more)
  if type(job) ~= 'string' then wrong('kv.like', 'name of the job', job) end
  if more ~= nil then surplus('kv.like', 'the name of a job', more) end
  if not host.top() then error('kv.like is for the top level: it says what the whole script is', 2) end
  if not host.like(job) then error("kv.like: there is no job '" .. job .. "'; 'kvtrial jobs' lists them", 2) end
end

verbs.now = refuse('kv.now is not there: ' .. nothing .. '. kvtrial takes the time')

-- Data: each line, as it is or decoded.
local Data = {}
Data.__index = Data

local function reader(verb, decode)
  return function(source, more)
    if more ~= nil then surplus(verb, 'the name of data', more) end
    if type(source) ~= 'string' then
      error(source == nil and 'this script reads data: name it with --data FILE' or 'the name of data is a string', 2)
    end
    local id, problem = host.open(source)
    if not id then error(problem, 0) end
    local data = setmetatable({ id = id, count = host.count(id) }, Data)
    return decode(data)
  end
end

-- Of data that is decoded a line with nothing on it is none.
local function without_blanks(data)
  local records = host.records(data.id)
  data.gaps, data.count = records < data.count, records
end

local function line(data, number)
  if data.gaps then number = host.line_of(data.id, number) end
  local text = host.line(data.id, number)
  if not data.decode then return text end
  local value, problem = data.decode(text)
  if value == nil then error(host.source(data.id) .. ':' .. number .. ': ' .. problem, 3) end
  return value
end

function Data:at(number)
  whole('data:at', 'number of the line', number)
  if number < 1 then error('data:at: lines are counted from 1, and this is ' .. number, 2) end
  number = number + (self.skip or 0)
  if number <= self.count then return line(self, number) end
end

function Data:all()
  local number, last = self.skip or 0, self.count
  return function()
    number = number + 1
    if number <= last then return line(self, number) end
  end
end

function Data:share(client)
  if type(client) ~= 'table' or not client.number then error('share needs the client: data:share(client)', 2) end
  local number, last, step = (self.skip or 0) + client.number - client.count, self.count, client.count
  return function()
    number = number + step
    if number <= last then return line(self, number) end
  end
end

verbs.lines = reader('kv.lines', function(data) return data end)
verbs.json = reader('kv.json', function(data)
  without_blanks(data)
  data.decode = host.decode
  return data
end)
verbs.csv = reader('kv.csv', function(data)
  data.skip = 1
  without_blanks(data)
  if data.count == 0 then return data end
  local first = line(data, 1)
  local separator = host.separator(first)
  local names, problem = host.csv(first, separator)
  if not names then error(host.source(data.id) .. ':' .. host.line_of(data.id, 1) .. ': ' .. problem, 0) end
  data.decode = function(text)
    local fields, wrong_field = host.csv(text, separator)
    if not fields then return nil, wrong_field end
    if #fields ~= #names then return nil, 'it has ' .. #fields .. ' fields, the first line has ' .. #names end
    local record = {}
    for at = 1, #names do record[names[at]] = fields[at] end
    return record
  end
  return data
end)

-- Random numbers: two linear generators (L'Ecuyer 1988), the same on every machine, one pair per client: the function that gives them under
-- a name, and the one that begins again.
local function generator(seed)
  local a, b
  local function draw()
    a, b = a * 40014 % 2147483563, b * 40692 % 2147483399
    return (a - b) % 2147483562 / 2147483562
  end
  local function reseed(new)
    new = floor(tonumber(new) or 0)
    a, b = new % 2147483562 + 1, (new * 40692 + 12345) % 2147483398 + 1
    for _ = 1, 8 do draw() end
  end
  reseed(seed)
  local function named(verb)
    return function(low, high, more)
      if low == nil and high == nil then return draw() end
      if high == nil then low, high = 1, low end
      whole(verb, 'first number', low)
      whole(verb, 'last number', high)
      if more ~= nil then surplus(verb, 'a first and a last number', more) end
      if high < low then error(verb .. ': the interval from ' .. low .. ' to ' .. high .. ' is empty', 2) end
      return low + floor(draw() * (high - low + 1))
    end
  end
  return named, reseed
end

local function zipf_of(random)
  return function(n, s, more)
    whole('kv.zipf', 'number of choices', n)
    if n < 1 or n >= 2 ^ 32 then error('kv.zipf: the number of choices must be from 1 to below 2^32 and is ' .. n, 2) end
    if s == nil then s = 0.99 end
    if type(s) ~= 'number' or not (s >= 0 and s <= 10) then
      local shown = type(s) == 'number' and tostring(s) or 'a ' .. type(s)
      error('kv.zipf: the exponent must be a number from 0 to 10 and is ' .. shown, 2)
    end
    if more ~= nil then surplus('kv.zipf', 'a number of choices and an exponent', more) end
    return host.zipf(n, s, random(), random())
  end
end

local function json_of()
  return {
    null = host.null,
    decode = function(text, more)
      if more ~= nil then surplus('json.decode', 'a text', more) end
      if type(text) ~= 'string' then error('json.decode: the text is a ' .. type(text) .. ' and must be a string', 2) end
      local value, problem = host.decode(text)
      if value == nil then error('json.decode: ' .. problem, 2) end
      return value
    end,
    add = function(text, numbers, more)
      if more ~= nil then surplus('json.add', 'a text and a table of numbers', more) end
      if text ~= nil and type(text) ~= 'string' then error('json.add: the text is a ' .. type(text) .. ' and must be a string, or nil', 2) end
      if type(numbers) ~= 'table' then error('json.add: what is added is a ' .. type(numbers) .. ' and must be a table of numbers', 2) end
      local sum, problem = host.add(text, numbers)
      if not sum then error('json.add: ' .. problem, 2) end
      return sum
    end,
    encode = function(value, more)
      if more ~= nil then surplus('json.encode', 'a value', more) end
      local text, problem = host.encode(value)
      if not text then error('json.encode: ' .. problem .. ' has no form in JSON', 2) end
      return text
    end,
  }
end

local builtin = {
  assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, pcall = pcall, rawequal = rawequal, rawget = rawget,
  rawset = rawset, select = select, setmetatable = setmetatable, tonumber = tonumber, tostring = tostring, type = type,
  unpack = unpack, xpcall = xpcall, _VERSION = _VERSION,
  getmetatable = function(value) if type(value) == 'string' then return nil end return getmetatable(value) end,
}
local libraries = { string = string, table = table, math = math, bit = bit }
local ways_out = { 'os', 'io', 'debug', 'package', 'ffi', 'jit' }
local calls_out = { 'require', 'dofile', 'loadfile', 'loadstring', 'collectgarbage', 'setfenv', 'getfenv', 'module' }

local function world(client)
  local env = {}
  for name, value in pairs(builtin) do env[name] = value end
  for name, library in pairs(libraries) do
    local own = {}
    for field, value in pairs(library) do own[field] = value end
    env[name] = own
  end
  env.string.dump = nil
  for _, name in ipairs(ways_out) do env[name] = closed(name, nothing) end
  for _, name in ipairs(calls_out) do env[name] = refuse(name .. ' is not there: a script is one file, and has no other code') end
  env.coroutine = closed('coroutine', 'each client is a coroutine already, and only verbs of kv may yield')
  env.print = refuse('print is not there: kv.say in answer() says what the script found')
  env.json = json_of()
  env._G = env
  local random, reseed = generator(host.seed + client.number * 7919)
  env.math.random, env.math.randomseed = random('math.random'), reseed
  local kv = { data = host.data, random = random('kv.random') }
  for name, verb in pairs(verbs) do kv[name] = verb end
  kv.zipf = zipf_of(kv.random)
  env.kv = setmetatable(kv, {
    __index = function(_, name)
      if name == 'data' then return nil end
      error('there is no kv.' .. tostring(name) .. '.' .. host.meant(tostring(name)), 2)
    end,
  })
  return env
end

local function new_client(number, count)
  return {
    number = number,
    count = count,
    owns = function(_, key, more)
      if type(key) ~= 'string' then wrong('client:owns', 'key', key) end
      if more ~= nil then surplus('client:owns', 'a key', more) end
      return host.owner(key, count) == number
    end,
  }
end

-- Opens a client: the function of its coroutine in a phase, or nil when it has nothing to do there. Without a phase: what the
-- script is, as it says itself. Again: its function is called as long as there is time.
return function(number, count, phase, again)
  local client = new_client(number, count)
  local env = world(client)
  setfenv(chunk, env)
  local form = chunk()
  host.below()
  local bench = type(form) == 'table' and (form.run or form.load) and form or nil
  if not phase then
    local sweep = bench and bench.sweep
    local found = { phases = {}, bench = bench and tostring(bench.name or ''), batched = bench and bench.batched and true or false }
    if type(sweep) == 'table' then
      found.sweep = tostring(sweep.param)
      found.sweep_default = tostring(type(sweep.values) == 'table' and sweep.values[1] or 1)
    end
    if bench then
      if type(bench.run) ~= 'function' then error('the table the script returns has no function run', 0) end
      found.phases = { bench.load and 'load' or nil, 'run' }
      if not bench.load then found.phases = { 'run' } end
    else
      local order = rawget(env, 'phases')
      if order ~= nil and type(order) ~= 'table' then error("phases must be a list of names, as in phases = {'load', 'run'}", 0) end
      for _, name in ipairs(order or { 'load', 'run', 'check' }) do
        if type(rawget(env, name)) == 'function' then
          found.phases[#found.phases + 1] = name
        elseif order then
          error("phases names '" .. tostring(name) .. "', and there is no function " .. tostring(name) .. '(client)', 0)
        end
      end
      if #found.phases == 0 then
        error('there is nothing to run: write a function run(client), or return {run = ...} as keybench has it', 0)
      end
    end
    found.answer = type(rawget(env, 'answer')) == 'function'
    return found
  end
  if bench then
    local ctx = {}
    for name, value in pairs(host.context) do ctx[name] = tonumber(value) or value end
    ctx.ops, ctx.seed = host.again and 0 or host.units, host.seed
    if phase == 'load' then
      if number > 1 then return nil end
      ctx.thread, ctx.threads, ctx.iter = 0, 1, 0
      return function() bench.load(ctx) end
    end
    ctx.thread, ctx.threads = number - 1, count
    ctx.seed = host.seed + number - 1
    env.math.randomseed(ctx.seed)
    local run, first, step, last = bench.run, number, count, host.units
    return function()
      local at = first
      while at <= last do
        ctx.iter = ctx.iter and ctx.iter + 1 or 1
        run(ctx)
        host.unit()
        at = at + step
      end
    end
  end
  local act = rawget(env, phase)
  if phase == 'answer' then
    if number > 1 then return nil end
    return function() act() end
  end
  return function()
    repeat
      act(client)
      host.unit()
    until not again
  end
end
