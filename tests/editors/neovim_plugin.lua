-- nvim -l neovim_plugin.lua: the daily actions of the plugin's user, by the keys of the documentation.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)
local scenes = {}

local function space() return vim.api.nvim_get_namespaces()['indwell.changes'] end

-- Returns what is drawn for the changes: signs by line, and the old lines above a line.
local function drawn(buffer)
  local seen = { signs = {}, old = {}, words = {} }
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space(), 0, -1, { details = true })) do
    local line, details = mark[2] + 1, mark[4]
    if details.sign_text then table.insert(seen.signs, { line, vim.trim(details.sign_text) }) end
    if details.hl_group == 'IndwellNewText' then
      table.insert(seen.words, vim.api.nvim_buf_get_text(buffer, mark[2], mark[3], mark[2], details.end_col, {})[1])
    end
    for _, chunks in ipairs(details.virt_lines or {}) do
      local text = table.concat(vim.tbl_map(function(chunk) return chunk[1] end, chunks))
      table.insert(seen.old, { line, text, details.virt_lines_above })
    end
  end
  return seen
end

local function wait_for_changes(buffer, count)
  user.wait(count .. ' drawn changes', function() return #drawn(buffer).old == count end)
  return drawn(buffer)
end

local function answers()
  local window = vim.fn.bufwinid('indwell://answers')
  return window ~= -1 and user.text(vim.api.nvim_win_get_buf(window)) or ''
end

local function wait_for_answer(words)
  user.wait('the answer ' .. words, function() return answers():find(words, 1, true) end)
end

-- Chooses the entry of the next list that contains the words.
local function pick(words)
  local list = vim.ui.select
  vim.ui.select = function(items, opts, on_choice)
    vim.ui.select = list
    for _, item in ipairs(items) do
      if opts.format_item(item):find(words, 1, true) then return on_choice(item) end
    end
    error(words .. ' is not in ' .. opts.prompt)
  end
end

local function messages_with(words)
  user.wait_for_message(words)
  return user.messages():match('[^\n]*' .. vim.pesc(words) .. '[^\n]*')
end

function scenes.review()
  local buffer = user.open(place.path)
  local report = { status = {} }
  local function status() table.insert(report.status, require('indwell').status()) end
  user.turn(place.first, place.last, 'Fix this')
  report.drawn = wait_for_changes(buffer, 3)
  user.wait('the context', function() return require('indwell').status():find('context') end)
  status()
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  report.lines = {}
  for _, keys in ipairs({ [[\in]], [[\in]], [[\in]], [[\in]], [[\ip]] }) do
    local before = vim.api.nvim_win_get_cursor(0)[1]
    user.keys(keys)
    user.wait('a move', function() return vim.api.nvim_win_get_cursor(0)[1] ~= before end)
    table.insert(report.lines, vim.api.nvim_win_get_cursor(0)[1])
  end
  user.keys([[\iv]])
  user.wait('the list', function() return #vim.fn.getqflist() == 3 end)
  report.list = vim.tbl_map(function(it) return { it.lnum, it.text } end, vim.fn.getqflist())
  vim.cmd.cclose()
  vim.api.nvim_win_set_cursor(0, { place.lines[1], 0 })
  user.keys([[\ia]])
  report.accepted = wait_for_changes(buffer, 2)
  vim.api.nvim_win_set_cursor(0, { place.lines[2], 0 })
  user.keys([[\ir]])
  report.rejected = wait_for_changes(buffer, 1)
  report.buffer = user.text(buffer)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  user.keys([[\ia]])
  report.nothing = messages_with('no change of Indwell')
  vim.cmd('Indwell accept all')
  wait_for_changes(buffer, 0)
  user.wait('the status', function() return not require('indwell').status():find('to review') end)
  status()
  vim.cmd('Indwell undo')
  wait_for_changes(buffer, 1)
  return report
end

function scenes.daily()
  local buffer = user.open(place.path)
  local window = vim.api.nvim_get_current_win()
  local report = {}
  user.keys(([[%dGV%dG\iiWhy is<CR>this so?<C-s>]]):format(place.first, place.last))
  wait_for_answer('Because.')
  report.asked = { answers = answers(), focus_stayed = vim.api.nvim_get_current_win() == window, mode = vim.fn.mode() }
  user.keys(('%dG\\ie'):format(place.first))
  wait_for_answer('It explains.')
  report.explained = answers()
  user.keys(('%dGV%dG\\idFree from 50 on<C-s>'):format(place.first, place.last))
  report.edited = wait_for_changes(buffer, 1)
  user.wait_for_message('Indwell: done')
  user.keys(('%dG\\if'):format(place.lines[2]))
  report.fixed = wait_for_changes(buffer, 2)
  user.wait('the end', function() return require('indwell').status():find('· done') end)
  report.buffer = user.text(buffer)
  user.keys([[\ic]])
  user.wait('the chat', function() return vim.api.nvim_buf_get_name(0):match('%.chat%.md$') end)
  user.keys('GoIs it right?<C-s>')
  user.wait('the answer', function() return user.text(0):find('It is right.*## You') end)
  report.chat, report.answers = user.text(0), answers()
  return report
end

-- Apart from `daily`, because a cassette keeps no list of models.
function scenes.model_and_stop()
  user.open(place.path)
  local report = {}
  pick('another-model')
  user.keys([[\iM]])
  report.model = messages_with('another-model')
  user.keys([[\iiHow long?<C-s>]])
  wait_for_answer('I am thinking')
  report.running = require('indwell').status()
  report.streamed = answers():match('# How long%?.*')
  user.keys([[\is]])
  user.wait('the end', function() return answers():find('*cancelled*', 1, true) end)
  user.wait('the stop', function() return require('indwell').status():find('· stopped') end)
  report.sessions = {}
  vim.ui.select = function(items, opts) report.sessions = vim.tbl_map(opts.format_item, items) end
  user.keys([[\il]])
  user.wait('the sessions', function() return #report.sessions == 1 end)
  return report
end

function scenes.everywhere()
  local report = { said = {} }
  local function say(command, words)
    vim.cmd('messages clear')
    vim.cmd(command)
    table.insert(report.said, (messages_with(words)))
  end
  report.completed = vim.fn.getcompletion('Indwell ', 'cmdline')
  report.arguments = {}
  for _, line in ipairs({ 'Indwell mode ', 'Indwell reject f', 'Indwell plan a', 'Indwell fix ' }) do
    table.insert(report.arguments, vim.fn.getcompletion(line, 'cmdline'))
  end
  vim.cmd.enew()
  say('Indwell fix', 'has no file')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a list', 'of things' })
  vim.cmd('2Indwell ask Which things?')
  wait_for_answer('All of them.')
  report.answers = answers()
  vim.fn.win_execute(vim.fn.bufwinid('indwell://answers'), 'close')
  vim.bo.modified = false
  report.clients = #vim.lsp.get_clients({ name = 'indwell' })
  report.turns = vim.fn.getcompletion('Indwell rewind ', 'cmdline')
  say('Indwell nonsense', 'is unknown')
  say('Indwell accept nonsense', 'is unknown')
  say('Indwell mode nonsense', 'is unknown')
  say('Indwell plan', 'plan')
  say('Indwell rewind x', 'number of a turn')
  vim.cmd.edit(vim.fn.fnameescape(place.root))
  say('Indwell fix', 'has no file')
  say('Indwell next', 'no change waits')
  vim.cmd('Indwell mode plan')
  user.wait('the mode', function() return require('indwell').status():find('^Indwell plan') end)
  vim.cmd.edit(vim.fn.fnameescape(vim.fs.dirname(place.root) .. '/elsewhere.txt'))
  report.outside = #vim.lsp.get_clients({ bufnr = 0 })
  vim.cmd('checkhealth indwell')
  report.health = user.text(0)
  report.subjects = {}
  for _, name in ipairs(report.completed) do
    local found = pcall(vim.cmd.help, ':Indwell-' .. name)
    if not found then table.insert(report.subjects, name) end
  end
  vim.cmd.help('indwell')
  report.help = vim.fs.basename(vim.api.nvim_buf_get_name(0))
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  vim.fn.writefile(vim.fn.readfile(vim.api.nvim_buf_get_name(0)), folder .. '/indwell.txt')
  vim.cmd.helptags(folder)
  report.tags = { vim.fn.readfile(folder .. '/tags'), vim.fn.readfile(vim.fs.dirname(vim.api.nvim_buf_get_name(0)) .. '/tags') }
  return report
end

function scenes.plan()
  local buffer = user.open(place.path)
  local before = user.text(buffer)
  local answers_of_user = { 'Edit' }
  user.permit = function() return table.remove(answers_of_user, 1) or 'No' end
  vim.cmd('Indwell mode plan')
  user.choose(place.first, place.last, 'Fix this')
  user.wait('the question', function() return #user.questions() == 1 end)
  local shown
  user.wait('the document', function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      local it = vim.api.nvim_win_get_buf(window)
      if vim.api.nvim_buf_get_name(it):match('plan%.md$') and #vim.lsp.get_clients({ bufnr = it }) == 1 then shown = window end
    end
    return shown
  end)
  vim.api.nvim_set_current_win(shown)
  user.wanted = 'Approve the plan as written here'
  local count = #user.choices
  user.keys('gra')
  user.wait('code actions', function() return #user.choices > count end)
  user.wait('the work', function() return user.text(buffer) ~= before end)
  user.wait_for_message('Indwell: done')
  return { titles = user.choices[count + 1].titles, after = user.text(buffer) }
end

local ok, report = pcall(scenes[place.scene])
report = ok and report or { failed = tostring(report) }
report.messages = user.messages()
local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
file:write(vim.json.encode(report))
file:close()
vim.cmd('qall!')
