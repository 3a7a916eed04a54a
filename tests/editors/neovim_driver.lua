-- What a user does in Neovim and what the user sees, for the scenarios: keys in, a record out.

local driver = {
  choices = {}, -- records each vim.ui.select: kind, prompt, titles, and the kinds of code actions
  inputs = {}, -- records each prompt for a line of text, or for several lines
  progress = {}, -- records each LspProgress: kind, title, message, ms
  wanted = nil, -- the user chooses this title from the next list of code actions
  typed = vim.NIL, -- the user types this text at the next prompt
  permit = function() return 'Once' end, -- returns the title that answers a question; nil means no answer yet
}

local function ms() return vim.uv.hrtime() / 1e6 end

local function find(items, titles, title)
  for index, one in ipairs(titles) do
    if one == title then return items[index] end
  end
end

vim.ui.select = function(items, opts, on_choice)
  local titles = vim.tbl_map(opts.format_item or tostring, items)
  local choice = { kind = opts.kind, prompt = opts.prompt, titles = titles }
  table.insert(driver.choices, choice)
  if opts.kind == 'codeaction' then
    choice.kinds = vim.tbl_map(function(item) return item.action.kind end, items)
    on_choice(find(items, titles, driver.wanted))
    return
  end
  driver.answer = function(title) on_choice(find(items, titles, title)) end
  local title = driver.permit()
  if title then driver.answer(title) end
end

-- Answers a question of the server, which the page's configuration asks the user, with a word.
vim.ui.input = function(opts, on_confirm)
  local titles = vim.tbl_map(function(it) return it.title end, opts.actions)
  local words = vim.split(opts.prompt:match('%((.*)%)'), ', ')
  table.insert(driver.choices, { kind = 'lsp_message', prompt = opts.message, titles = titles })
  driver.answer = function(title) on_confirm(find(words, titles, title)) end
  local title = driver.permit()
  if title then driver.answer(title) end
end

-- Answers a question in the window of the plugin with one of the words that the window shows.
vim.api.nvim_create_autocmd('User', { pattern = 'IndwellAsks', callback = function(event)
  local titles = vim.tbl_map(function(it) return it.title end, event.data.actions)
  local words = require('indwell.words').words_of(event.data.actions)
  table.insert(driver.choices, { kind = 'lsp_message', prompt = event.data.message, titles = titles })
  driver.answer = function(title)
    local word = find(words, titles, title)
    if word then require('indwell.questions').answer(word) end
  end
  local title = driver.permit()
  if title then driver.answer(title) end
end })

-- Types into the window of the plugin that takes several lines of text.
vim.api.nvim_create_autocmd('User', { pattern = 'IndwellPrompt', callback = function(event)
  if driver.typed == vim.NIL then return end
  table.insert(driver.inputs, event.data.title .. ': ')
  vim.schedule(function()
    vim.api.nvim_buf_set_lines(event.data.buf, 0, -1, false, vim.split(driver.typed, '\n'))
    vim.cmd.write()
  end)
end })

vim.fn.input = function(opts)
  table.insert(driver.inputs, opts.prompt)
  return driver.typed == vim.NIL and opts.cancelreturn or driver.typed
end

vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    local value = event.data.params.value
    table.insert(driver.progress, {
      kind = value.kind,
      title = value.title,
      message = value.message,
      token = event.data.params.token,
      ms = ms(),
    })
  end,
})

function driver.wait(what, condition)
  if not vim.wait(60000, condition, 5) then
    local seen = vim.inspect({ driver.progress, driver.choices, driver.messages() })
    error('waited in vain for ' .. what .. '; seen: ' .. seen)
  end
end

function driver.client() return vim.lsp.get_clients({ name = 'indwell' })[1] end

function driver.open(path)
  vim.cmd.edit(vim.fn.fnameescape(path))
  driver.wait('the client', function() return vim.lsp.get_clients({ bufnr = 0 })[1] end)
  return vim.api.nvim_get_current_buf()
end

function driver.keys(keys) vim.api.nvim_feedkeys(vim.keycode(keys), 'mx', false) end

-- Lists the code actions of a selection of whole lines, and chooses `title`, if it is given.
function driver.choose(first, last, title)
  driver.wanted = title
  local before = #driver.choices
  driver.keys(('%dGV%dGgra'):format(first, last))
  driver.wait('code actions', function() return #driver.choices > before end)
  return driver.choices[before + 1]
end

function driver.seen(kind, from)
  for index = from or 1, #driver.progress do
    if driver.progress[index].kind == kind then return driver.progress[index] end
  end
end

-- Starts a turn and waits for its end; calls `during` when the turn has begun to write.
function driver.turn(first, last, title, during)
  local from = #driver.progress + 1
  driver.choose(first, last, title)
  if during then
    driver.wait('a report', function() return driver.seen('report', from) end)
    during()
  end
  driver.wait('the end of the turn', function() return driver.seen('end', from) end)
  return driver.seen('end', from)
end

function driver.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, false), '\n') .. '\n'
end

function driver.disk(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

function driver.messages() return vim.fn.execute('messages') end

function driver.wait_for_message(words)
  driver.wait(words, function() return driver.messages():find(words, 1, true) end)
end

function driver.questions()
  return vim.tbl_filter(function(one) return one.kind == 'lsp_message' end, driver.choices)
end

-- Returns the text of the window that shows answers, as soon as that window exists.
function driver.answer_beside()
  driver.wait('the answer', function() return #vim.api.nvim_list_wins() == 2 end)
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if window ~= vim.api.nvim_get_current_win() then
      return driver.text(vim.api.nvim_win_get_buf(window))
    end
  end
end

-- Returns how a turn ended for the user: the sentence below the text, or the answer beside it.
function driver.ending()
  local function said() return driver.messages():match('Indwell: done[^\n]*') end
  driver.wait('a last word', function() return said() or #vim.api.nvim_list_wins() == 2 end)
  return said() or driver.answer_beside()
end

driver.ms = ms
return driver
