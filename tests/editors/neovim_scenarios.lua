-- nvim -l neovim_scenarios.lua SCENARIO PLACE REPORT: plays one scenario, writes what Neovim saw.
-- PLACE is JSON: path, first, last, and what the scenario needs besides.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(arg[2])
local scenarios = {}

local function state(buffer)
  return {
    buffer = user.text(buffer),
    disk = user.disk(place.path),
    modified = vim.bo[buffer].modified,
    messages = user.messages(),
    warning = vim.v.warningmsg,
    progress = user.progress,
    questions = user.questions(),
    clients = #vim.lsp.get_clients(),
    encoding = user.client().offset_encoding,
  }
end

function scenarios.actions()
  user.open(place.path)
  local selection = user.choose(place.first, place.last)
  local space = vim.api.nvim_create_namespace('another server')
  vim.diagnostic.set(space, 0, {
    { lnum = place.first - 1, col = 0, message = 'wrong result', severity = 1, source = 'linter' },
  })
  user.keys(place.first .. 'G')
  local before = #user.choices
  user.keys('gra')
  user.wait('code actions', function() return #user.choices > before end)
  vim.lsp.buf.code_action({ context = { only = { 'quickfix' }, triggerKind = 2 } })
  user.wait('automatic code actions', function() return #user.choices > before + 1 end)
  return {
    selection = selection,
    line = user.choices[before + 1],
    automatic = user.choices[before + 2],
    mapped = vim.fn.maparg('gra', 'n') ~= '' and vim.fn.maparg('gra', 'x') ~= '',
  }
end

function scenarios.mend()
  local buffer = user.open(place.path)
  if place.fileformat then vim.bo.fileformat = place.fileformat vim.cmd.write() end
  local original = user.text(buffer)
  local tick = vim.fn.undotree().seq_last
  user.turn(place.first, place.last, 'Fix this')
  user.wait_for_message('Indwell: done')
  local report = state(buffer)
  report.original = original
  report.steps = vim.fn.undotree().seq_last - tick
  vim.cmd.checktime()
  vim.cmd.write()
  report.written = user.disk(place.path)
  report.check = vim.system(place.check, { cwd = place.root }):wait().code
  vim.cmd.undo()
  report.undone = user.text(buffer)
  report.warning = vim.v.warningmsg
  report.messages = user.messages()
  return report
end

function scenarios.diagnostic()
  local buffer = user.open(place.path)
  local space = vim.api.nvim_create_namespace('another server')
  vim.diagnostic.set(space, 0, {
    { lnum = place.last - 1, col = 0, message = 'the result is wrong 🙂', severity = 1, source = 'linter' },
  })
  user.turn(place.first, place.last, 'Fix this')
  return state(buffer)
end

function scenarios.refuse()
  local buffer = user.open(place.path)
  user.permit = function() return 'No' end
  user.turn(place.first, place.last, 'Fix this')
  user.wait('the answer', function() return #vim.api.nvim_list_wins() == 2 end)
  local report = state(buffer)
  report.answer = user.text(vim.fn.winbufnr(vim.fn.winnr('#') ~= 0 and vim.fn.winnr('#') or 1))
  return report
end

function scenarios.cancel()
  local buffer = user.open(place.path)
  local took = {}
  local function stop(how)
    return function()
      took[#took + 1] = user.ms()
      how()
    end
  end
  local ways = {
    function()
      local token = next(user.client().progress.pending)
      user.client():notify('window/workDoneProgress/cancel', { token = token })
    end,
    function() user.client():exec_cmd({ command = 'indwell.cancel' }) end,
    function() user.choose(place.first, place.last, 'Stop the running turn') end,
    function() user.keys(vim.g.mapleader and '<leader>is' or '\\is') end,
  }
  local ends = {}
  for index, way in ipairs(ways) do
    ends[index] = user.turn(place.first, place.last, 'Fix this', stop(way))
    took[index] = ends[index].ms - took[index]
  end
  -- And while a question stands open; the answer comes too late.
  user.permit = function() end
  user.turn(place.first, place.last, 'Fix this', function()
    user.wait('the question', function() return #user.questions() > 0 end)
    took[#took + 1] = user.ms()
    ways[2]()
  end)
  took[#took] = user.progress[#user.progress].ms - took[#took]
  user.answer('Once')
  local report = state(buffer)
  report.ends = vim.tbl_map(function(one) return one.message end, ends)
  report.took = took
  return report
end

function scenarios.edited_while_asked()
  local buffer = user.open(place.path)
  user.permit = function()
    local line = vim.api.nvim_buf_get_lines(buffer, place.last - 1, place.last, false)[1]
    vim.api.nvim_buf_set_lines(buffer, place.last - 1, place.last, false, { line .. '  # mine' })
    user.permit = function() return 'Once' end
    return 'Once'
  end
  user.turn(place.first, place.last, 'Fix this')
  return state(buffer)
end

function scenarios.edited_at_the_same_moment()
  local buffer = user.open(place.path)
  local apply = vim.lsp.handlers['workspace/applyEdit']
  vim.lsp.handlers['workspace/applyEdit'] = function(...)
    local line = vim.api.nvim_buf_get_lines(buffer, place.last - 1, place.last, false)[1]
    vim.api.nvim_buf_set_lines(buffer, place.last - 1, place.last, false, { line .. '  # mine' })
    vim.lsp.handlers['workspace/applyEdit'] = apply
    return apply(...)
  end
  user.turn(place.first, place.last, 'Fix this')
  return state(buffer)
end

function scenarios.ask()
  local buffer = user.open(place.path)
  local window, cursor = vim.api.nvim_get_current_win(), { place.first, 0 }
  user.choose(place.first, place.last, 'Ask about this…') -- <Esc> at the prompt
  user.wait('the prompt', function() return #user.inputs == 1 end)
  user.typed = 'Why is this so?'
  user.turn(place.first, place.last, 'Ask about this…')
  user.wait('the answer', function() return #vim.api.nvim_list_wins() == 2 end)
  vim.api.nvim_win_set_cursor(window, cursor)
  local report = state(buffer)
  report.inputs = user.inputs
  report.focus_stayed = vim.api.nvim_get_current_win() == window
    and vim.api.nvim_get_current_buf() == buffer
  for _, other in ipairs(vim.api.nvim_list_wins()) do
    if other ~= window then
      local shown = vim.api.nvim_win_get_buf(other)
      report.answer = user.text(shown)
      report.answer_name = vim.fs.basename(vim.api.nvim_buf_get_name(shown))
    end
  end
  return report
end

local report = scenarios[arg[1]]()
local file = assert(io.open(arg[3], 'w'))
file:write(vim.json.encode(report))
file:close()
vim.cmd('qall!')
