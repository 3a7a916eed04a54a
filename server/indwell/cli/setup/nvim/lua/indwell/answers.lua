-- Answers that stream into a window, each below its question.
local client = require('indwell.client')

local answers = {}
local REDRAW_MS = 50 -- text that comes within this time is written at once
local ANSWERED = { '^Ask about this', '^Explain this' } -- titles of turns whose answer opens the window

local turns = {} -- by session and turn: question, title, text, round (where the text of this reply begins), place
local pending = {} -- turns with text that the window does not show yet
local expected = {} -- words of prompts whose answer opens the window
local buffer, is_due

local function key_of(session, event) return session .. ' ' .. event.turn end

local function window()
  local found = buffer and vim.fn.bufwinid(buffer) or -1
  return found ~= -1 and found or nil
end

local function make_buffer()
  if buffer and vim.api.nvim_buf_is_valid(buffer) then return end
  buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, 'indwell://answers')
  vim.bo[buffer].filetype = 'markdown'
  vim.bo[buffer].modifiable = false
  pcall(vim.treesitter.start, buffer, 'markdown')
  vim.keymap.set('n', 'q', function()
    if not pcall(vim.cmd.close) then vim.cmd('silent! bprevious') end -- the last window stays
  end, { buffer = buffer, desc = 'Indwell: close the answers' })
end

local function open_window()
  local columns, lines = vim.o.columns, vim.o.lines
  local config = columns >= 160 and { split = 'right', width = math.floor(columns / 2) }
    or { split = 'above', height = math.max(5, math.floor(lines / 3)) }
  if client.options.answers == 'float' then
    local width, height = math.min(100, columns - 4), math.max(5, math.floor(lines / 2))
    config = {
      relative = 'editor',
      width = width,
      height = height,
      row = 1,
      col = columns - width - 2,
      border = 'rounded',
      title = ' Indwell · q closes ',
    }
  end
  local made = vim.api.nvim_open_win(buffer, false, config)
  vim.wo[made].wrap, vim.wo[made].linebreak, vim.wo[made].conceallevel = true, true, 2
  vim.wo[made].number, vim.wo[made].relativenumber, vim.wo[made].signcolumn = false, false, 'no'
end

-- Makes the newest heading the first line of the window, where the end of its answer has room too.
local function reveal()
  local shown, newest = window(), answers.newest
  if not shown then return end
  vim.api.nvim_win_set_cursor(shown, { vim.api.nvim_buf_line_count(buffer), 0 })
  vim.api.nvim_win_call(shown, function() vim.fn.winrestview({ topline = newest and newest.heading or 1 }) end)
end

-- Opens the window with all answers of this Neovim, the newest last.
function answers.show()
  make_buffer()
  if not window() then open_window() end
  reveal()
end

-- Replaces the last lines of the buffer, from the 0-based line `from`; follows the end where the user has not moved.
local function write(from, lines)
  make_buffer()
  local shown = window()
  local follows = shown and vim.api.nvim_win_get_cursor(shown)[1] >= vim.api.nvim_buf_line_count(buffer)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, from, -1, false, lines)
  vim.bo[buffer].modifiable = false
  if follows and vim.api.nvim_get_current_win() ~= shown or follows and from == 0 then
    vim.api.nvim_win_set_cursor(shown, { vim.api.nvim_buf_line_count(buffer), 0 })
  end
end

-- Returns the lines above an answer: the user's question, or the title of a task without a question.
local function heading(it)
  local question = vim.trim((it.question:gsub('%(This is about [^\n]*%)%s*$', '')))
  if it.is_task or question == '' then return { '# ' .. it.title, '' } end
  local lines = vim.split(question, '\n')
  lines[1] = '# ' .. lines[1]
  if it.title:find(': ', 1, true) then vim.list_extend(lines, { '', '*' .. it.title .. '*' }) end
  table.insert(lines, '')
  return lines
end

-- Writes the new text of a turn: below its heading, which is last in the buffer if the turn is the newest there.
local function flush(it)
  make_buffer()
  if not it.place or it.place > vim.api.nvim_buf_line_count(buffer) or answers.newest ~= it then
    local count = vim.api.nvim_buf_line_count(buffer)
    local is_empty = count == 1 and vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == ''
    local lines = heading(it)
    if not is_empty then lines = vim.list_extend({ '', '---', '' }, lines) end
    local from = is_empty and 0 or count
    write(from, lines)
    it.place, it.n_written, answers.newest = from + #lines, 0, it
    it.heading = is_empty and 1 or from + 4
    if vim.api.nvim_get_current_win() ~= window() then reveal() end
  end
  local lines = vim.split((it.text:gsub('%s+$', '')), '\n')
  local kept = math.max(0, math.min(it.n_written, #lines) - 1) -- only the last line changed, and those below are new
  write(it.place + kept, vim.list_slice(lines, kept + 1))
  it.n_written = #lines
end

local function flush_all()
  is_due = false
  for it in pairs(pending) do
    pending[it] = nil
    flush(it)
    if it.opens then
      it.opens = false
      answers.show()
    end
  end
end

local function later(it)
  pending[it] = true
  if is_due then return end
  is_due = true
  vim.defer_fn(client.guarded(flush_all), REDRAW_MS)
end

-- Lets the turn with these words open the window as soon as it answers.
function answers.expect(words) expected[vim.trim(words)] = true end

local function on_started(session, event)
  local words = vim.trim(event.words)
  local opens = expected[words] or false
  expected[words] = nil
  for _, pattern in ipairs(ANSWERED) do
    opens = opens or event.title:match(pattern) ~= nil
  end
  local is_task = event.title:match('^%u[%w ]*: ') ~= nil
    and not event.title:match('^Ask')
    and not event.title:match('^Refactor')
  turns[key_of(session, event)] =
    { question = event.words, title = event.title, is_task = is_task, text = '', round = 0, opens = opens }
end

local function on_text(it, event)
  if event.restart then
    it.text, it.n_written = it.text:sub(1, it.round), 0
  end
  it.text = it.text .. event.text
  later(it)
end

local function on_finished(it, event)
  if event.ending == 'done' and #event.changes == 0 and it.text ~= '' then it.opens = window() == nil end
  if event.ending ~= 'done' and it.text ~= '' then it.text = it.text .. '\n\n*' .. event.ending .. '*' end
  if it.text ~= '' then later(it) end
end

function answers.setup()
  client.on_event(function(session, event)
    if event.agent ~= '' then return end
    if event.type == 'turnStarted' then return on_started(session, event) end
    local it = turns[key_of(session, event)]
    if not it then return end
    if event.type == 'text' then
      on_text(it, event)
    elseif event.type == 'toolStarted' and it.text ~= '' and it.round < #it.text then
      it.text = it.text:gsub('%s+$', '') .. '\n\n'
      it.round = #it.text
    elseif event.type == 'turnFinished' then
      turns[key_of(session, event)] = nil
      on_finished(it, event)
    end
  end)
end

return answers
