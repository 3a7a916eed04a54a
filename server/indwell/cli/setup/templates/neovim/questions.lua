-- Questions of Indwell come when you have typed nothing for a second, and words such as allow-once answer them.
local typed_at, is_asked = 0, false
vim.on_key(function(_, typed) if typed ~= '' then typed_at = vim.uv.hrtime() end end)
local function quiet(seconds) return vim.uv.hrtime() - typed_at >= seconds * 1e9 end
@WORDS@
local function show(lines) -- in a window above the text; nil where not all of it has room
  local width, height = math.min(100, vim.o.columns - 4), 0
  for _, line in ipairs(lines) do height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width)) end
  if height > vim.o.lines - vim.o.cmdheight - 4 then return nil end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  local row = vim.o.lines - vim.o.cmdheight - height - 3
  local window = vim.api.nvim_open_win(buffer, false, { relative = 'editor', width = width, height = height, row = row, col = 1,
    style = 'minimal', border = 'rounded', title = ' Indwell asks ', zindex = 200 })
  vim.wo[window].wrap = true
  return function() pcall(vim.api.nvim_buf_delete, buffer, { force = true }) end
end
local function settle() -- what is typed in the first moment is meant for the text: it is dropped, and the moment begins again
  repeat
    vim.wait(300)
    local is_quiet = quiet(0.3)
    while vim.fn.getchar(0) ~= 0 do is_quiet = false end
    if not is_quiet then vim.api.nvim_echo({ { 'Dropped the keys that came before the question', 'WarningMsg' } }, false, {}) end
  until is_quiet
end
local function ask(it, on_answer, note)
  local mode = vim.api.nvim_get_mode().mode
  if is_asked or not quiet(1) or mode:match('^[cr!]') or mode:match('^no') then -- a command line, or half a command
    return vim.defer_fn(function() ask(it, on_answer, note) end, 100)
  end
  is_asked = true
  local words, lines = words_of(it.actions), vim.split(it.message, '\n')
  table.insert(lines, '')
  for at, action in ipairs(it.actions) do table.insert(lines, ('  %s: %s'):format(words[at], (action.title:gsub('%c', ' ')))) end
  if note then table.insert(lines, note) end
  local close, prompt = show(lines), ('Type a word (%s) and <Enter>: '):format(table.concat(words, ', '))
  if not close then prompt, close = table.concat(lines, '\n') .. '\n' .. prompt, function() end end
  vim.cmd.redraw()
  settle()
  vim.ui.input({ prompt = prompt, kind = 'indwell', actions = it.actions, message = it.message }, function(text)
    is_asked = false
    close()
    local at = text and chosen(words, text)
    if at then return on_answer(it.actions[at]) end
    local again = 'Press <Esc> again to give no answer.'
    if not text and note == again then return on_answer(vim.NIL) end
    ask(it, on_answer, not text and again or ('"%s" is not one of the words.'):format(text))
  end)
end
vim.lsp.config('indwell', { capabilities = { experimental = { indwell = { words = true } } }, handlers = {
  ['window/showMessageRequest'] = function(_, it)
  local this = coroutine.running()
  ask(it, function(answer) vim.schedule(function() coroutine.resume(this, answer) end) end)
  return coroutine.yield()
end, ['indwell/ask'] = function(_, it) -- a line in your own words
  if it.by == 'model' then settle() end
  return { text = vim.fn.input({ prompt = it.prompt .. ': ', cancelreturn = vim.NIL }) }
end } })
