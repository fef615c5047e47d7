-- What every script finds: the verbs of kv, json, and libraries without a way out. It gives the function that opens a client: a
-- world of its own, in which the script's text is run, and the function of its coroutine.
local host, chunk = ...
local yield, error, type, tostring, tonumber = coroutine.yield, error, type, tostring, tonumber
local setmetatable, setfenv, next, pairs, ipairs, select, floor = setmetatable, setfenv, next, pairs, ipairs, select, math.floor
local getmetatable, rawget, max, min = getmetatable, rawget, math.max, math.min
local native, limit = host.native, host.limit
local concat = table.concat

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
  table = '. Write it as text with json.encode()',
  ['nil'] = '',
}

local function wrong(verb, argument, value)
  error(verb .. ': the ' .. argument .. ' is a ' .. type(value) .. ' and must be a string' .. (remedies[type(value)] or ''), 3)
end

local function whole(verb, argument, value)
  if type(value) ~= 'number' or value ~= floor(value) then
    error(verb .. ': the ' .. argument .. ' must be a whole number and is ' .. tostring(value), 3)
  end
end

local function strings(verb, what, list)
  if type(list) ~= 'table' then error(verb .. ': a list of ' .. what .. ' is needed, this is a ' .. type(list), 3) end
  for at = 1, #list do
    if type(list[at]) ~= 'string' then wrong(verb, what .. ' ' .. at, list[at]) end
  end
end

-- Verbs -----------------------------------------------------------------------------------------------------------------------------
local verbs = {}

function verbs.get(key)
  if type(key) ~= 'string' then wrong('kv.get', 'key', key) end
  return yield(1, key)
end

function verbs.put(key, value)
  if type(key) ~= 'string' then wrong('kv.put', 'key', key) end
  if type(value) ~= 'string' then wrong('kv.put', 'value', value) end
  return yield(2, key, value)
end

function verbs.delete(key)
  if type(key) ~= 'string' then wrong('kv.delete', 'key', key) end
  return yield(3, key)
end

function verbs.append(key, value)
  if type(key) ~= 'string' then wrong('kv.append', 'key', key) end
  if type(value) ~= 'string' then wrong('kv.append', 'value', value) end
  if native.append then return yield(4, key, value) end
  local before, failed = yield(1, key)
  if failed then return nil, failed end
  return yield(2, key, (before or '') .. value)
end

function verbs.increment(key, by)
  if type(key) ~= 'string' then wrong('kv.increment', 'key', key) end
  by = by or 1
  whole('kv.increment', 'step', by)
  if native.increment then return yield(5, key, by) end
  local before, failed = yield(1, key)
  if failed then return nil, failed end
  local sum = (tonumber(before) or 0) + by
  local _, lost = yield(2, key, ('%d'):format(sum))
  if lost then return nil, lost end
  return sum
end

function verbs.get_counter(key)
  if type(key) ~= 'string' then wrong('kv.get_counter', 'key', key) end
  if native.increment then return yield(6, key) end
  local text, failed = yield(1, key)
  return text and tonumber(text), failed
end

function verbs.increment_field(key, field, by)
  if type(key) ~= 'string' then wrong('kv.increment_field', 'key', key) end
  if type(field) ~= 'string' then wrong('kv.increment_field', 'field', field) end
  by = by or 1
  whole('kv.increment_field', 'step', by)
  return yield(7, key, field, by)
end

function verbs.get_fields(key)
  if type(key) ~= 'string' then wrong('kv.get_fields', 'key', key) end
  local names, counts = yield(8, key)
  if not names then return nil, counts end
  local fields = {}
  for at = 1, #names do fields[names[at]] = tonumber(counts[at]) end
  return fields
end

function verbs.cas(key, expected, value)
  if type(key) ~= 'string' then wrong('kv.cas', 'key', key) end
  if expected ~= nil and type(expected) ~= 'string' then wrong('kv.cas', 'expected value', expected) end
  if type(value) ~= 'string' then wrong('kv.cas', 'value', value) end
  local found, version, failed = yield(9, key)
  if failed then return nil, failed end
  if found ~= expected then return false end
  return yield(10, key, value, version, found)
end

function verbs.get_many(keys)
  strings('kv.get_many', 'key', keys)
  if #keys == 0 then return {} end
  local found, values = {}, nil
  if native.get_many and #keys > 1 then
    local names
    names, values = yield(11, keys)
    if not names then return nil, values end
    local by_name = {}
    for at = 1, #names do by_name[names[at]] = values[at] end
    for at = 1, #keys do found[at] = by_name[keys[at]] end
  else
    local asked = {}
    for at = 1, #keys do asked[at] = keys[at] end
    for at = 1, #asked do
      local value, failed = yield(1, asked[at])
      if failed then return nil, failed end
      found[at] = value
    end
  end
  return found
end

-- A table of pairs, or a list of tables with key and value (or val).
function verbs.put_many(pairs_given)
  if type(pairs_given) ~= 'table' then error('kv.put_many: a table of pairs is needed, this is a ' .. type(pairs_given), 2) end
  local keys, values = {}, {}
  if pairs_given[1] then
    for at, pair in ipairs(pairs_given) do
      if type(pair) ~= 'table' then error('kv.put_many: entry ' .. at .. ' is a ' .. type(pair) .. ' and must be {key =, value =}', 2) end
      keys[at], values[at] = pair.key, pair.value or pair.val
    end
  else
    for key in next, pairs_given do keys[#keys + 1] = key end
    strings('kv.put_many', 'key', keys)
    table.sort(keys)
    for at = 1, #keys do values[at] = pairs_given[keys[at]] end
  end
  for at = 1, #keys do
    if type(keys[at]) ~= 'string' then wrong('kv.put_many', 'key ' .. at, keys[at]) end
    if type(values[at]) ~= 'string' then wrong('kv.put_many', 'value ' .. at, values[at]) end
  end
  if #keys == 0 then return end
  if native.put_many and #keys > 1 then return yield(12, keys, values) end
  for at = 1, #keys do
    local _, failed = yield(2, keys[at], values[at])
    if failed then return nil, failed end
  end
end

local function pages(lo, hi, most, each)
  local start, left, page = lo, most, 32
  while left > 0 do
    local asked = min(left, page)
    local names, values = yield(13, start, asked)
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
  if most ~= nil then whole(verb, 'limit', most) end
  return (most == nil or most <= 0) and math.huge or most
end

-- kv.scan(start, limit) gives rows; kv.scan(lo, hi, each, limit) calls each(key, value) for each row from lo to before hi.
function verbs.scan(start, second, each, most)
  if type(second) == 'string' then
    most = bounds('kv.scan', start, second, most)
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
  if second < 1 then error('kv.scan: the limit must be 1 or more and is ' .. second, 2) end
  local names, values = yield(13, start, second)
  if not names then return nil, values end
  local found = {}
  for at = 1, #names do found[at] = { key = names[at], value = values[at] } end
  return found
end

-- keybench's verbs.
function verbs.del(key)
  if type(key) ~= 'string' then wrong('kv.del', 'key', key) end
  return yield(3, key)
end

function verbs.range(lo, hi, most)
  return rows(lo, hi, bounds('kv.range', lo, hi, most), 'val')
end

function verbs.mget(keys) return verbs.get_many(keys) end
function verbs.mput(list) return verbs.put_many(list) end

function verbs.mdel(keys)
  strings('kv.mdel', 'key', keys)
  local asked, gone = {}, 0
  for at = 1, #keys do asked[at] = keys[at] end
  for at = 1, #asked do
    local was_there, failed = yield(3, asked[at])
    if failed then return nil, failed end
    if was_there then gone = gone + 1 end
  end
  return gone
end

-- What is not an operation.
function verbs.expect(truth, why)
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
    if type(field) == 'number' and field == floor(field) and field > -1e15 and field < 1e15 then field = ('%d'):format(field) end
    field = tostring(field)
    if field:find('\n', 1, true) then error('kv.say: field ' .. at .. ' has a line end, and a line is a line', 2) end
    fields[at] = field
  end
  host.say(concat(fields, '\t'))
end

function verbs.keys()
  local at = 0
  return function()
    at = at + 1
    return host.key(at)
  end
end

function verbs.param(name, default, help)
  if type(name) ~= 'string' or not name:find('^[%a_][%w_]*$') then error('kv.param: a name is letters, digits and _', 2) end
  if type(default) ~= 'string' and type(default) ~= 'number' then
    error("kv.param('" .. name .. "'): the default must be a number or a string and is a " .. type(default), 2)
  end
  local value, problem = host.param(name, tostring(default), help and tostring(help) or '')
  if not value then error("kv.param('" .. name .. "'): " .. problem, 2) end
  if type(default) == 'number' then
    local number = tonumber(value)
    if not number then error('--set ' .. name .. '=' .. value .. ': it must be a number, as its default ' .. default .. ' is', 0) end
    return number
  end
  return value
end

function verbs.shared(truth)
  if not host.top() then error('kv.shared is for the top level: it holds for the whole job', 2) end
  host.shared(truth ~= false)
end

function verbs.like(job)
  if type(job) ~= 'string' then wrong('kv.like', 'name of the job', job) end
  if not host.top() then error('kv.like is for the top level: it says what the whole script is', 2) end
  if not host.like(job) then error("kv.like: there is no job '" .. job .. "'; 'kvtrial jobs' lists them", 2) end
end

verbs.now = refuse('kv.now is not there: ' .. nothing .. '. kvtrial takes the time')

-- Data: each line, as it is or decoded.
local Data = {}
Data.__index = Data

local function reader(decode)
  return function(source)
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

function Data:at(number) return line(self, number + (self.skip or 0)) end

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

verbs.lines = reader(function(data) return data end)
verbs.json = reader(function(data)
  without_blanks(data)
  data.decode = host.decode
  return data
end)
verbs.csv = reader(function(data)
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

-- Random numbers: two linear generators (L'Ecuyer 1988), the same on every machine, one pair per client.
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
  return function(low, high)
    if not low then return draw() end
    if not high then low, high = 1, low end
    if high < low then error('random: the interval is empty', 2) end
    return low + floor(draw() * (high - low + 1))
  end, reseed
end

local function json_of()
  return {
    null = host.null,
    decode = function(text)
      if type(text) ~= 'string' then error('json.decode: the text is a ' .. type(text) .. ' and must be a string', 2) end
      local value, problem = host.decode(text)
      if value == nil then error('json.decode: ' .. problem, 2) end
      return value
    end,
    add = function(text, numbers)
      if text ~= nil and type(text) ~= 'string' then error('json.add: the text is a ' .. type(text) .. ' and must be a string, or nil', 2) end
      if type(numbers) ~= 'table' then error('json.add: what is added is a ' .. type(numbers) .. ' and must be a table of numbers', 2) end
      local sum, problem = host.add(text, numbers)
      if not sum then error('json.add: ' .. problem, 2) end
      return sum
    end,
    encode = function(value)
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
  env.math.random, env.math.randomseed = random, reseed
  local kv = { data = host.data, random = random }
  for name, verb in pairs(verbs) do kv[name] = verb end
  kv.zipf = function(n, s) return host.zipf(n, s or 0.99, random(), random()) end
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
    owns = function(_, key)
      if type(key) ~= 'string' then wrong('client:owns', 'key', key) end
      return host.owner(key, count) == number
    end,
  }
end

-- Opens a client: the function of its coroutine in a phase, or nil when it has nothing to do there. Without a phase: what the
-- script is, as it says itself.
return function(number, count, phase)
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
  local again = host.again
  return function()
    repeat
      act(client)
      host.unit()
    until not again
  end
end
