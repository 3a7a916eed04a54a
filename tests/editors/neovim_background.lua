-- nvim 0.11 -l neovim_background.lua: a command runs on after its turn, and the user stops it.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)

user.open(place.path)
user.turn(place.first, place.last, 'Fix this')
user.permit = function() return place.stop end
user.keys('\\ib') -- the page maps this key
user.wait('the list', function() return #user.questions() > 0 end)
user.permit = function() return nil end
user.wait('its end', function()
  user.keys('\\ib')
  return user.messages():find('no background commands run', 1, true)
end)

local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
file:write(vim.json.encode({ questions = user.questions(), messages = user.messages() }))
file:close()
vim.cmd('qall!')
