-- A job queue per client: jobs are put in at the tail, taken out at the head, and never twice. Head and tail are kept in the store.

local jobs = kv.param('jobs', 400, 'jobs, over all clients')
local batch = kv.param('batch', 8, 'jobs put in before half as many are taken out')

local function read(key) return tonumber(kv.get(key) or 0) end
local function write(key, number) kv.put(key, ('%d'):format(number)) end

local function push(queue, job)
  local tail = read(queue .. 'tail') + 1
  kv.put(('%s%08d'):format(queue, tail), job)
  write(queue .. 'tail', tail)
end

-- The oldest job, or nil.
local function pop(queue)
  local head = read(queue .. 'head') + 1
  if head > read(queue .. 'tail') then return nil end
  local key = ('%s%08d'):format(queue, head)
  local job = kv.get(key)
  kv.expect(kv.delete(key), key .. ' was taken twice')
  write(queue .. 'head', head)
  return job
end

function run(client)
  local queue, put, done = 'queue:' .. client.number .. ':', 0, 0
  local own = math.floor((jobs - client.number) / client.count) + 1
  while done < own do
    for _ = 1, math.min(batch, own - put) do
      put = put + 1
      push(queue, ('job %06d'):format((put - 1) * client.count + client.number))
    end
    for _ = 1, math.ceil(batch / 2) do
      local job = pop(queue)
      if job then
        done = done + 1
        kv.expect(job == ('job %06d'):format((done - 1) * client.count + client.number), job .. ' came out of turn')
        kv.put('done:' .. job, 'done')
      end
    end
  end
end

-- Which client did a job is no part of the answer: it depends on how many there are.
function answer()
  local done = 0
  for key in kv.keys() do
    if key:sub(1, 5) == 'done:' then
      done = done + 1
      kv.say(key, kv.get(key))
    end
  end
  kv.expect(done == jobs, done .. ' jobs were done, not ' .. jobs)
end
