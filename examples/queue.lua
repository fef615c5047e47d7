-- A job queue per client: jobs are put in, taken out in order, and ended; what was taken is never taken twice. Needs scans.

local jobs = kv.param('jobs', 400, 'jobs, over all clients')
local batch = kv.param('batch', 8, 'jobs put in before some are taken out')

function run(client)
  local waiting, done = 'queue:' .. client.number .. ':', 'done:'
  local put, taken = 0, 0
  local own = math.floor((jobs - client.number) / client.count) + 1
  while taken < own do
    for _ = 1, math.min(batch, own - put) do
      put = put + 1
      local job = (put - 1) * client.count + client.number
      kv.put(('%s%08d'):format(waiting, put), ('job %06d'):format(job))
    end
    -- The oldest are the first in byte order.
    for _, row in ipairs(kv.scan(waiting, math.ceil(batch / 2))) do
      if row.key:sub(1, #waiting) ~= waiting then break end
      taken = taken + 1
      kv.expect(row.key == ('%s%08d'):format(waiting, taken), 'a job came out of turn: ' .. row.key)
      kv.put(done .. row.value, 'done')
      kv.delete(row.key)
    end
  end
end

function answer()
  for key in kv.keys() do
    kv.expect(key:sub(1, 5) == 'done:', key .. ' is left in a queue')
    kv.say(key, kv.get(key))
  end
end
