-- Shopping carts: one value per cart, read, changed and written back as a whole, with the prices of a catalogue.

local carts = kv.param('carts', 200, 'carts')
local actions = kv.param('actions', 2000, 'things done to carts, over all clients')
local kinds = 40

local function price_of(kind) return ('price:item%d'):format(kind) end

-- load(client) is off the clock: what is there before. It ends when its work is done, also with --set seconds=10.
function load(client)
  for kind = client.number, kinds, client.count do
    kv.put(price_of(kind), ('%d'):format(99 + kind * 7 % 40))
  end
end

-- Every client could meet every cart. So that each cart has one writer, a client leaves to the others what is not its own.
function run(client)
  for action = 1, actions do
    local cart = ('cart:%05d'):format(action * action % carts)
    if client:owns(cart) then
      local text = kv.get(cart)
      local items = text and json.decode(text) or {}
      local kind = (action * 17) % kinds + 1
      local item = 'item' .. kind
      if action % 5 == 0 then
        items[item] = nil
      else
        local price = tonumber(kv.get(price_of(kind)))
        items[item] = { pieces = (items[item] and items[item].pieces or 0) + 1, price = price }
      end
      kv.put(cart, json.encode(items))
    end
  end
end

function answer()
  for cart in kv.keys() do
    if cart:sub(1, 5) == 'cart:' then
      local pieces, sum = 0, 0
      for _, item in pairs(json.decode(kv.get(cart))) do
        pieces, sum = pieces + item.pieces, sum + item.pieces * item.price
      end
      kv.say(cart, pieces, sum)
    end
  end
end
