-- Shopping carts: one value per cart, read, changed and written back as a whole.

local carts = kv.param('carts', 200, 'carts')
local actions = kv.param('actions', 2000, 'things done to carts, over all clients')

-- Every client could meet every cart. So that each cart has one writer, a client leaves to the others what is not its own.
function run(client)
  for action = 1, actions do
    local cart = ('cart:%05d'):format(action * action % carts)
    if client:owns(cart) then
      local text = kv.get(cart)
      local items = text and json.decode(text) or {}
      local item = 'item' .. (action * 17) % 40
      if action % 5 == 0 then
        items[item] = nil
      else
        items[item] = (items[item] or 0) + 1
      end
      kv.put(cart, json.encode(items))
    end
  end
end

function answer()
  for cart in kv.keys() do
    local kinds, pieces = 0, 0
    for _, count in pairs(json.decode(kv.get(cart))) do
      kinds, pieces = kinds + 1, pieces + count
    end
    kv.say(cart, kinds, pieces)
  end
end
