-- nvim 0.11 -l neovim_shared.lua: the shared scenarios, with real keys and menus of the driver.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')

function user.titles(first, last) return user.choose(first, last).titles end

function user.run(command, arguments, done)
  user.client():exec_cmd({ title = command, command = command, arguments = arguments }, {}, function(_, result)
    if done then done(result) end
  end)
end

local questions = user.questions
function user.questions()
  return vim.tbl_map(function(one) return { prompt = one.prompt, titles = one.titles } end, questions())
end

dofile(here .. '/shared_scenarios.lua')(user, vim.json.decode(vim.env.INDWELL_PLACE))
