-- nvim 0.11 -l neovim_subagents.lua: a turn in which a sub-agent edits, and a permission question names the sub-agent.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)

local buffer = user.open(place.path)
local original = user.text(buffer)
user.permit = function() return 'No' end
user.turn(place.first, place.last, 'Fix this')
user.wait_for_message('Indwell: done')
local report = {
  buffer = user.text(buffer),
  lines = vim.tbl_map(function(step) return step.message end, user.progress),
  questions = user.questions(),
  messages = user.messages(),
}
vim.cmd.undo()
report.undone = user.text(buffer) == original

local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
file:write(vim.json.encode(report))
file:close()
vim.cmd('qall!')
