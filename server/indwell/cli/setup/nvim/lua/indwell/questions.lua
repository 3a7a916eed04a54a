-- Questions of the server: a floating window that takes only letters and words, and no keys that were typed ahead.
local client = require('indwell.client')
local words = require('indwell.words')

local questions = {}
local QUIET_S = 1 -- seconds without a key until a question takes the focus
local SETTLE_MS = 300 -- keys of this time after the window opened were meant for the text

local typed_at = 0
local queue = {} -- questions that wait, the oldest first
local open -- the question on the screen: item, words, buffer, window, from, was_insert
local asked = {} -- words of the open permissions and questions of the model, by their id

local function quiet(seconds) return vim.uv.hrtime() - typed_at >= seconds * 1e9 end

local function set_note(note)
  vim.bo[open.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(open.buffer, open.n_lines - 1, open.n_lines, false, { note })
end

local function close()
  local it = open
  open = nil
  if vim.api.nvim_get_current_win() == it.window then
    if not it.was_insert then vim.cmd.stopinsert() end
    if vim.api.nvim_win_is_valid(it.from) then vim.api.nvim_set_current_win(it.from) end
  end
  pcall(vim.api.nvim_buf_delete, it.buffer, { force = true })
end

local function finish(answer)
  local it = open
  close()
  it.on_answer(answer)
  vim.schedule(questions.next)
end

-- Answers the question on the screen with one of its words; other words are refused with a note.
function questions.answer(text)
  if not open then return client.warn('no question is open.') end
  local at = words.chosen(open.words, text)
  if at then return finish(open.item.actions[at]) end
  vim.api.nvim_buf_set_lines(open.buffer, open.n_lines, -2, false, {})
  set_note(('"%s" is not one of the words.'):format(vim.trim(text)))
end

-- Returns the words that answer the question on the screen.
function questions.words() return open and open.words or {} end

-- Goes to the question on the screen, from any other window.
function questions.focus()
  if not open then return client.say('no question is open.') end
  vim.api.nvim_set_current_win(open.window)
  vim.cmd.startinsert({ bang = true })
end

local function lines_of(item, names)
  local lines = vim.split(item.message, '\n')
  table.insert(lines, '')
  local widest = 0
  for _, name in ipairs(names) do
    widest = math.min(40, math.max(widest, #name)) -- Lua pads to at most 99 characters
  end
  for at, action in ipairs(item.actions) do
    table.insert(lines, ('  %-' .. widest .. 's  %s'):format(names[at], (action.title:gsub('%c', ' '))))
  end
  table.insert(lines, ('Type a word (%s) and <Enter>:'):format(table.concat(names, ', ')))
  table.insert(lines, '')
  return lines
end

local function height_of(lines, width)
  local height = 1 -- the line in which the user types
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return height
end

local function set_keys(buffer)
  vim.keymap.set('i', '<Esc>', function()
    set_note('Press <Esc> again to give no answer, or i to type.')
    vim.cmd.stopinsert()
  end, { buffer = buffer })
  vim.keymap.set('n', '<Esc>', function() finish(vim.NIL) end, { buffer = buffer })
  vim.api.nvim_create_autocmd('InsertCharPre', {
    buffer = buffer,
    callback = function()
      if not vim.v.char:match('^[%a-]$') then vim.v.char = '' end
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buffer,
    callback = function()
      if open and open.buffer == buffer then
        local it = open
        open = nil
        it.on_answer(vim.NIL)
        vim.schedule(questions.next)
      end
    end,
  })
end

-- Drops the keys that were typed ahead, until the user pauses.
local function settle()
  local dropped = false
  repeat
    vim.wait(SETTLE_MS)
    local is_quiet = quiet(SETTLE_MS / 1000)
    while vim.fn.getchar(0) ~= 0 do
      is_quiet = false
    end
    dropped = dropped or not is_quiet
  until is_quiet
  if dropped and open then set_note('Dropped the keys that came before the question.') end
end

local function show(entry)
  local names = words.words_of(entry.item.actions)
  local lines = lines_of(entry.item, names)
  local width = math.max(20, math.min(100, vim.o.columns - 4))
  local room = math.max(1, vim.o.lines - vim.o.cmdheight - 4)
  local height = height_of(lines, width)
  if height > room then lines[#lines] = 'The question is longer: <Esc> and <C-u> show the lines above.' end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden, vim.bo[buffer].buftype, vim.bo[buffer].filetype = 'wipe', 'prompt', 'indwell-question'
  vim.fn.prompt_setprompt(buffer, '> ')
  vim.fn.prompt_setcallback(
    buffer,
    client.guarded(function(text)
      vim.schedule(function() questions.answer(text) end)
    end)
  )
  open = { item = entry.item, on_answer = entry.on_answer, words = names, buffer = buffer, n_lines = #lines }
  open.from, open.was_insert = vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode:match('^[iRt]') ~= nil
  vim.api.nvim_buf_set_lines(buffer, 0, 0, false, lines)
  open.window = vim.api.nvim_open_win(buffer, true, {
    relative = 'editor',
    width = width,
    height = math.min(height, room),
    row = math.max(0, room - height + 1),
    col = 1,
    style = 'minimal',
    border = 'rounded',
    title = ' Indwell asks ',
    zindex = 200,
  })
  vim.wo[open.window].wrap, vim.wo[open.window].linebreak, vim.wo[open.window].smoothscroll = true, true, true
  vim.wo[open.window].winhighlight = 'NormalFloat:Normal,FloatTitle:WarningMsg'
  set_keys(buffer)
  vim.cmd('normal! Gzb')
  vim.cmd.startinsert({ bang = true })
  vim.cmd.redraw()
  vim.api.nvim_exec_autocmds(
    'User',
    { pattern = 'IndwellAsks', data = { message = entry.item.message, actions = entry.item.actions } }
  )
  if open and open.buffer == buffer then settle() end
end

-- Shows the oldest question that waits, as soon as the user types nothing.
function questions.next()
  if open or not queue[1] then return end
  local mode = vim.api.nvim_get_mode().mode
  if not quiet(QUIET_S) or mode:match('^[cr!vVsS\22\19]') or mode:match('^no') or vim.fn.getcmdwintype() ~= '' then
    return vim.defer_fn(client.guarded(questions.next), 100)
  end
  show(table.remove(queue, 1))
end

-- Puts a question: `actions` have titles, and `on_answer` gets one of them, or vim.NIL.
function questions.ask(item, on_answer)
  table.insert(queue, { item = item, on_answer = on_answer })
  questions.next()
end

-- Waits until the user types nothing, then calls `act` without the keys that were typed ahead.
function questions.when_quiet(act)
  if not quiet(QUIET_S) or vim.api.nvim_get_mode().mode:match('^[cr!]') then
    return vim.defer_fn(function() questions.when_quiet(act) end, 100)
  end
  act()
  settle()
end

-- Removes questions that the server no longer asks.
local function withdraw(told)
  if not told then return end
  for at = #queue, 1, -1 do
    if queue[at].item.message:find(told, 1, true) then table.remove(queue, at).on_answer(vim.NIL) end
  end
  if open and open.item.message:find(told, 1, true) then finish(vim.NIL) end
end

function questions.setup()
  vim.on_key(function(_, typed)
    if typed ~= '' then typed_at = vim.uv.hrtime() end
  end)
  client.on_event(function(_, event)
    if event.type == 'permissionAsked' or event.type == 'questionAsked' then
      asked[event.id] = event.title or event.question
    elseif event.type == 'permissionAnswered' or event.type == 'questionAnswered' then
      withdraw(asked[event.id])
      asked[event.id] = nil
    end
  end)
  vim.lsp.config('indwell', {
    capabilities = { experimental = { indwell = { words = true } } },
    handlers = {
      ['window/showMessageRequest'] = function(_, item)
        return client.awaited(function(on_answer) questions.ask(item, on_answer) end)
      end,
    },
  })
end

return questions
