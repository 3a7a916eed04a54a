-- nvim -l neovim_plan.lua: a plan is proposed, edited in its window, and approved, with real keys.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)

local function run(command, argument)
  user.client():exec_cmd({ title = command, command = command, arguments = argument and { argument } })
end

local function written(report)
  local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
  file:write(vim.json.encode(report))
  file:close()
end

local answers = { 'Edit', 'Approve' }
user.permit = function() return table.remove(answers, 1) or 'No' end

local function play()
  local buffer = user.open(place.path)
  local window = vim.api.nvim_get_current_win()
  run('indwell.mode', { mode = 'plan' })
  user.choose(place.first, place.last, 'Fix this')
  user.wait('the question', function() return #user.questions() == 1 end)
  user.wait('the document', function()
    return #vim.tbl_filter(function(one)
      return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(one)):match('plan%.md$')
    end, vim.api.nvim_list_wins()) == 1
  end)
  local planned = user.text(buffer)
  local shown
  for _, one in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(one)):match('plan%.md$') then
      vim.api.nvim_set_current_win(one)
      shown = user.text(0)
      user.keys('ggcG1. Only the comparison<Esc>')
      vim.cmd.write()
    end
  end
  vim.api.nvim_set_current_win(window)
  run('indwell.plan')
  user.wait('the work', function() return user.text(buffer) ~= planned end)
  user.wait_for_message('Indwell: done')
  return {
    before = planned,
    shown = shown,
    after = user.text(buffer),
    questions = vim.tbl_map(function(one) return { prompt = one.prompt, titles = one.titles } end, user.questions()),
    messages = user.messages(),
  }
end

local ok, report = pcall(play)
written(ok and report or { failed = tostring(report) })
vim.cmd('qall!')
