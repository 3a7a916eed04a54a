-- nvim 0.7 -S neovim07_scenarios.lua, with INDWELL_SCENARIO, INDWELL_PLACE (JSON) and INDWELL_REPORT set:
-- plays one scenario with the older API, as a user of Debian 12 has it, and writes what Neovim saw.

local place = vim.json.decode(vim.env.INDWELL_PLACE)
local choices, questions = {}, {}
local wanted, answer = nil, 'Once'

local function ms() return vim.loop.hrtime() / 1e6 end

local function wait(what, condition)
  if not vim.wait(60000, condition, 5) then
    error('waited in vain for ' .. what .. '; seen: ' .. vim.inspect({ choices, questions, vim.fn.execute('messages') }))
  end
end

vim.ui.select = function(items, opts, on_choice)
  local titles = vim.tbl_map(opts.format_item or tostring, items)
  table.insert(choices, titles)
  for index, title in ipairs(titles) do
    if title == wanted then return on_choice(items[index], index) end
  end
end

-- The user answers a question with a word; each line of the question shows a word, and its title.
vim.fn.input = function(opts)
  table.insert(questions, opts.prompt)
  if type(answer) == 'function' then return answer() end
  for word, title in opts.prompt:gmatch('\n  ([%a-]+): ([^\n]*)') do
    if title == answer then return word end
  end
  return opts.cancelreturn
end

local function client() return vim.lsp.get_active_clients()[1] end

local function open()
  vim.cmd('edit ' .. vim.fn.fnameescape(place.path))
  wait('the client', function() return client() and client().initialized end)
  wait('the buffer', function() return vim.lsp.buf_is_attached(0, client().id) end)
  return vim.api.nvim_get_current_buf()
end

local function choose(title)
  wanted = title
  local before = #choices
  -- the keys that a user presses on selected lines
  vim.api.nvim_feedkeys(('%dGV%dGgra'):format(place.first, place.last), 'mx', false)
  wait('code actions', function() return #choices > before end)
end

local function running()
  for _, one in pairs(client().messages.progress) do
    if one.title and not one.done then return true end
  end
  return false
end

local function begun()
  for _, one in pairs(client().messages.progress) do
    if one.title then return true end -- a progress token without a title proves nothing
  end
  return false
end

local function turn(title, during)
  client().messages.progress = {}
  choose(title)
  wait('the beginning', begun)
  if during then during() end
  wait('the end of the turn', function() return not running() end)
end

local function text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') .. '\n'
end

local function disk()
  local file = assert(io.open(place.path, 'rb'))
  local all = file:read('*a')
  file:close()
  return all
end

local function said(words)
  wait(words, function() return vim.fn.execute('messages'):find(words, 1, true) end)
end

local function state(buffer)
  return {
    buffer = text(buffer),
    disk = disk(),
    modified = vim.bo[buffer].modified,
    encoding = client().offset_encoding,
    questions = questions,
    choices = choices[1],
    messages = vim.fn.execute('messages'),
  }
end

local scenarios = {}

function scenarios.mend()
  local buffer = open()
  local before = vim.fn.undotree().seq_last
  turn('Fix this')
  said('Indwell: done')
  local report = state(buffer)
  report.steps = vim.fn.undotree().seq_last - before
  vim.cmd('undo')
  report.undone = text(buffer)
  vim.cmd('write') -- Neovim asks nothing, because it has written the file itself before
  report.saved = disk()
  return report
end

function scenarios.refuse()
  answer = 'No'
  local buffer = open()
  turn('Fix this')
  return state(buffer)
end

function scenarios.cancel()
  local buffer = open()
  local took
  turn('Fix this', function()
    took = ms()
    client().request('workspace/executeCommand', { command = 'indwell.cancel' }, function() end)
    wait('the end', function() return not running() end)
    took = ms() - took
  end)
  local report = state(buffer)
  report.took = took
  return report
end

function scenarios.edited_while_asked()
  local buffer = open()
  answer = function()
    answer = 'Once'
    local line = vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1]
    vim.api.nvim_buf_set_lines(buffer, 0, 1, false, { line .. '  # mine' })
    return 'allow-once'
  end
  turn('Fix this')
  return state(buffer)
end

function scenarios.unsaved()
  local buffer = open()
  local lines = vim.api.nvim_buf_get_lines(buffer, place.last - 1, place.last, false)
  vim.api.nvim_buf_set_lines(buffer, place.last - 1, place.last, false, { lines[1] .. '  # mine' })
  turn('Fix this')
  return state(buffer)
end

local ok, report = pcall(scenarios[vim.env.INDWELL_SCENARIO])
local file = assert(io.open(vim.env.INDWELL_REPORT, 'w'))
file:write(vim.json.encode(ok and report or { failed = tostring(report) }))
file:close()
vim.cmd('qall!')
