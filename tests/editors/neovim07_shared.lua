-- nvim 0.7 -S neovim07_shared.lua: the shared scenarios with the older API.

local here = vim.fn.fnamemodify(debug.getinfo(1).source:sub(2), ':p:h')
local place = vim.json.decode(vim.env.INDWELL_PLACE)
local user = { choices = {}, asked = {}, permit = function() return 'Once' end }

function user.ms() return vim.loop.hrtime() / 1e6 end

function user.wait(what, condition)
  if not vim.wait(60000, condition, 5) then
    error('waited in vain for ' .. what .. '; seen: ' .. vim.inspect({ user.choices, user.asked, vim.fn.execute('messages') }))
  end
end

vim.ui.select = function(items, opts, on_choice)
  local titles = vim.tbl_map(opts.format_item or tostring, items)
  table.insert(user.choices, titles)
  for index, title in ipairs(titles) do
    if title == user.wanted then return on_choice(items[index], index) end
  end
end

-- The user answers a question with a word; each line of the question shows a word, and its title.
vim.fn.input = function(opts)
  local titles, words = {}, {}
  for word, title in opts.prompt:gmatch('\n  ([%a-]+): ([^\n]*)') do
    table.insert(words, word)
    table.insert(titles, title)
  end
  table.insert(user.asked, { prompt = opts.prompt:match('^\n(.-)\n\n  %a'), titles = titles })
  for index, title in ipairs(titles) do
    if title == user.permit() then return words[index] end
  end
  return opts.cancelreturn
end

function user.questions() return user.asked end

function user.client() return vim.lsp.get_active_clients()[1] end

function user.open(path)
  vim.cmd('silent edit! ' .. vim.fn.fnameescape(path))
  user.wait('the client', function() return user.client() and user.client().initialized end)
  user.wait('the buffer', function() return vim.lsp.buf_is_attached(0, user.client().id) end)
  return vim.api.nvim_get_current_buf()
end

function user.choose(first, last, title)
  user.wanted = title
  local before = #user.choices
  vim.lsp.buf.range_code_action({ diagnostics = {} }, { first, 0 }, { last, 0 })
  user.wait('code actions', function() return #user.choices > before end)
  return user.choices[before + 1]
end

user.titles = user.choose

local function progress(condition)
  for _, one in pairs(user.client().messages.progress) do
    if one.title and condition(one) then return true end
  end
  return false
end

function user.turn(first, last, title, during)
  user.client().messages.progress = {}
  user.choose(first, last, title)
  user.wait('the beginning', function() return progress(function() return true end) end)
  if during then during() end
  user.wait('the end', function() return not progress(function(one) return not one.done end) end)
end

function user.run(command, arguments, done)
  user.client().request('workspace/executeCommand', { command = command, arguments = arguments }, function(_, result)
    if done then done(result) end
  end)
end

function user.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') .. '\n'
end

-- Neovim 0.7 asks for lenses only when the user enters a buffer.
function user.look() vim.cmd('doautocmd BufEnter') end

dofile(here .. '/shared_scenarios.lua')(user, place)
