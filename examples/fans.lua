-- Which pages are liked together: the job of 2009, as in 'kvtrial run fans'; its answer has the same digest.

kv.like('fans') -- its presets: 'kvtrial run fans.lua --preset 2009'

local profiles = kv.lines(kv.data or 'debian-10k')

-- Reads 'name<tab>page page page'; a page counts once per profile.
local function pages_of(line)
  local pages, seen = {}, {}
  for page in line:match('\t(.*)'):gmatch('%S+') do
    if not seen[page] then
      seen[page] = true
      pages[#pages + 1] = page
    end
  end
  return pages
end

function run(client)
  for line in profiles:all() do
    local pages = pages_of(line)
    local with = {}
    for _, page in ipairs(pages) do with[page] = 1 end
    for _, page in ipairs(pages) do
      if client:owns(page) then -- each page has one writer
        with[page] = nil
        kv.put(page, json.add(kv.get(page), { fans = 1, with = with }))
        with[page] = 1
      end
    end
  end
end

function answer()
  for page in kv.keys() do
    for other, count in pairs(json.decode(kv.get(page)).with) do
      kv.say(page, other, count)
    end
  end
end
