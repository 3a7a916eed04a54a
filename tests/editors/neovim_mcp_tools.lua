-- nvim -l neovim_mcp_tools.lua: a tool of an MCP server is allowed once, and the user fills in the form of another tool.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)

local function written(report)
  local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
  file:write(vim.json.encode(report))
  file:close()
end

local answers = vim.json.decode(vim.env.INDWELL_ANSWERS)
user.permit = function() return table.remove(answers, 1) or 'No' end
user.typed = '3'

local function play()
  user.open(place.path)
  local answer
  user.client():request('indwell/prompt', { text = 'add two and three', session = 'new' }, function(err, it)
    answer = err or it
  end)
  user.wait('the end of the turn', function() return answer end)
  return {
    ending = answer.ending,
    questions = vim.tbl_map(function(one) return { prompt = one.prompt, titles = one.titles } end, user.questions()),
  }
end

local ok, report = pcall(play)
written(ok and report or { failed = tostring(report) })
vim.cmd('qall!')
