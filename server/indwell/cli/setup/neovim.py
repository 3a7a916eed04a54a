"""The configuration of Neovim, 0.11 and older."""

from __future__ import annotations

from indwell.cli.setup.configuration import EditorConfiguration, lua, lua_list

_OWN_FILE = r"""if vim.fn.has('nvim-0.11') == 0 then
  vim.notify('Indwell: this file is for Neovim 0.11 or later; for yours: indwell setup nvim-older --write', vim.log.levels.WARN)
  return
end
"""

_BASE = r"""vim.lsp.config('indwell', { cmd = @COMMAND@, flags = { debounce_text_changes = 0 },
  root_markers = { '.git', '.indwell' }, workspace_required = true,
  capabilities = { experimental = { indwell = { ask = true, save = true } } }, handlers = {
  ['indwell/ask'] = function(_, q) return { text = vim.fn.input({ prompt = q.prompt .. ': ', cancelreturn = vim.NIL }) } end,
  ['indwell/save'] = function(_, q) return { saved = vim.tbl_filter(function(uri) return vim.api.nvim_buf_call(
    vim.uri_to_bufnr(uri), function() return pcall(vim.cmd.update) and not vim.bo.modified end) end, q.uris) } end } })
vim.lsp.enable('indwell'); vim.api.nvim_create_autocmd({ 'DiagnosticChanged', 'LspAttach' }, { callback = function(event)
  local others = vim.tbl_filter(function(it) return it.source ~= 'indwell' end, vim.diagnostic.get(event.buf))
  local found = { uri = vim.uri_from_bufnr(event.buf), diagnostics = vim.lsp.diagnostic.from(others) }
  for _, it in ipairs(vim.lsp.get_clients({ name = 'indwell' })) do it:notify('indwell/didChangeDiagnostics', found) end end })
"""

_CHECKS = r"""-- Which problems each checker knows, and of which text: Indwell calls verified only what was checked as it is now.
local checked, due = {}, {} -- the version that each client has looked at, by buffer; buffers to tell of in a moment
local function problems(buffer)
  local sources, of = {}, {}
  local function source(name, version, ...)
    local one = { name = name, version = version, diagnostics = {} }
    table.insert(sources, one)
    for _, space in ipairs({ ... }) do of[space] = one end
    return one
  end
  for _, it in ipairs(vim.lsp.get_clients({ bufnr = buffer })) do
    local space = vim.lsp.diagnostic.get_namespace
    if it.name ~= 'indwell' then source(it.name, checked[buffer] and checked[buffer][it.id], space(it.id, false), space(it.id, true)) end
  end
  for _, it in ipairs(vim.diagnostic.get(buffer)) do
    if it.source ~= 'indwell' then
      local one = of[it.namespace] or source(vim.diagnostic.get_namespace(it.namespace).name, nil, it.namespace)
      table.insert(one.diagnostics, it)
    end
  end
  for _, it in ipairs(sources) do it.diagnostics = vim.lsp.diagnostic.from(it.diagnostics) end
  return { uri = vim.uri_from_bufnr(buffer), diagnostics = {}, sources = sources }
end
local function tell(buffer)
  if due[buffer] or #vim.lsp.get_clients({ bufnr = buffer, name = 'indwell' }) == 0 then return end
  due[buffer] = true
  vim.schedule(function()
    due[buffer] = nil
    if vim.v.exiting ~= vim.NIL or not vim.api.nvim_buf_is_loaded(buffer) then return end
    for _, it in ipairs(vim.lsp.get_clients({ name = 'indwell' })) do
      it:notify('indwell/didChangeDiagnostics', problems(buffer))
    end
  end)
end
vim.api.nvim_create_autocmd({ 'DiagnosticChanged', 'LspAttach', 'LspDetach' }, { callback = function(event) tell(event.buf) end })
for _, method in ipairs({ 'textDocument/publishDiagnostics', 'textDocument/diagnostic' }) do
  local shown = vim.lsp.handlers[method]
  vim.lsp.handlers[method] = function(err, it, context, config)
    local given = shown(err, it, context, config)
    local uri = it and (it.uri or context.params.textDocument.uri)
    local version = it and (it.uri and it.version or context.version)
    if uri and not err and vim.fn.bufexists(vim.uri_to_fname(uri)) == 1 then
      local buffer = vim.uri_to_bufnr(uri)
      checked[buffer] = checked[buffer] or {}
      checked[buffer][context.client_id] = version
      tell(buffer)
    end
    return given
  end
end
"""

_MORE = r"""-- All answers of a session in one window, the newest first, instead of a window each.
vim.lsp.config('indwell', { capabilities = { experimental = { indwell = { reread = true } } }, handlers = {
  ['window/showDocument'] = function(err, it, context)
    local shown = vim.lsp.handlers[context.method](err, it, context)
    vim.cmd.checktime(vim.uri_to_bufnr(it.uri))
    return shown
  end } })
-- Each edit is one undo step, in a file that you are not in too; Neovim joins those that come while you are elsewhere.
vim.lsp.config('indwell', { handlers = { ['workspace/applyEdit'] = function(err, it, context)
  for _, one in ipairs(it.edit.documentChanges or {}) do
    local uri = one.textDocument and one.textDocument.uri
    if uri and not uri:match('%.chat%.md$') then -- an answer that streams in is one step
      local buffer = vim.uri_to_bufnr(uri)
      vim.bo[buffer].undolevels = vim.bo[buffer].undolevels -- ends the step before
    end
  end
  return vim.lsp.handlers[context.method](err, it, context)
end } })
-- Each step of a turn below the text, cut to the width that needs no <Enter>.
vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
  local now = event.data.params.value
  local words = ('%s: %s'):format(now.title, now.message or '')
  while vim.fn.strdisplaywidth(words) > vim.v.echospace do words = vim.fn.strcharpart(words, 0, vim.fn.strchars(words) - 1) end
  vim.api.nvim_echo({ { words } }, false, {})
end })
-- What a hook or a command changed on disk is read again, at the next step, where you have changed nothing.
vim.api.nvim_create_autocmd('LspProgress', { callback = function()
  for _, it in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(it) and not vim.bo[it].modified then vim.cmd('silent! checktime ' .. it) end
  end
end })
-- Tools, thoughts and older turns of a chat are folded: zo opens one, zR all.
vim.api.nvim_create_autocmd('BufWinEnter', { pattern = '*.chat.md', callback = function()
  local own = vim.wo[0][0]
  own.foldmethod, own.foldexpr = 'expr', 'v:lua.vim.lsp.foldexpr()'
  own.foldtext = [[substitute(getline(v:foldstart), '<[^>]*>', '', 'g')]]
end })
-- Messages of language servers without the <Enter> that Neovim 0.11 asks for after each.
vim.lsp.handlers['window/showMessage'] = function(_, it) vim.notify(it.message, 5 - it.type) end
-- Code actions of a selection that leave Visual mode; in it Neovim 0.11 waits for a key before it goes on.
vim.keymap.set('x', 'gra', '<Esc><Cmd>lua vim.lsp.buf.code_action({ range = { start ='
  .. ' vim.api.nvim_buf_get_mark(0, "<"), ["end"] = vim.api.nvim_buf_get_mark(0, ">") } })<CR>')
"""

_WORDS = r"""local function words_of(actions) -- no for "No"; else what nobody types into a file, such as allow-once or choose-not-now
  local words, times = {}, {}
  for _, it in ipairs(actions) do
    local parts = {}
    for part in it.title:gsub(':.*', ''):lower():gmatch('%a+') do table.insert(parts, #parts < 3 and part or nil) end
    local start = actions[1].title == 'No' and 'allow-' or 'choose-'
    local word = it.title == 'No' and 'no' or start .. (parts[1] and table.concat(parts, '-') or 'answer')
    table.insert(words, word)
    times[word] = (times[word] or 0) + 1
  end
  for at, word in ipairs(words) do
    if times[word] > 1 then words[at] = word .. '-' .. string.char(96 + math.min(at, 26)) end
  end
  return words
end
local function chosen(words, text) -- the place of a word; a letter or more behind the first hyphen is enough where one word begins so
  local typed, found = vim.trim(text):lower(), {}
  for at, word in ipairs(words) do
    if word == typed then return at end
    if typed:find('%-.') and vim.startswith(word, typed) then table.insert(found, at) end
  end
  return #found == 1 and found[1] or nil
end
"""

_QUESTIONS = (
    r"""-- Questions of Indwell come when you have typed nothing for a second, and words such as allow-once answer them.
local typed_at, is_asked = 0, false
vim.on_key(function(_, typed) if typed ~= '' then typed_at = vim.uv.hrtime() end end)
local function quiet(seconds) return vim.uv.hrtime() - typed_at >= seconds * 1e9 end
"""
    + _WORDS
    + r"""local function show(lines) -- in a window above the text; nil where not all of it has room
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
"""
)

_KEYS = r"""-- What Indwell changed: lenses above it, and keys. ]d and [d go from change to change.
local awaited = {} -- buffers whose lenses are asked for in a moment, once for many changes
local function lenses(buffer)
  if awaited[buffer] or #vim.lsp.get_clients({ bufnr = buffer, name = 'indwell' }) == 0 then return end
  awaited[buffer] = true
  vim.defer_fn(function()
    awaited[buffer] = nil
    if vim.v.exiting == vim.NIL and vim.api.nvim_buf_is_loaded(buffer) then vim.lsp.codelens.refresh({ bufnr = buffer }) end
  end, 200)
end
vim.api.nvim_create_autocmd({ 'LspAttach', 'BufEnter', 'BufWritePost', 'LspNotify' }, { callback = function(event)
  if event.event ~= 'LspNotify' or event.data.method == 'textDocument/didChange' then lenses(event.buf) end
end })
-- Neovim 0.11 neither says nor knows that a server may ask for new lenses, as after "Accept"; with this it does.
vim.lsp.config('indwell', { capabilities = { workspace = { codeLens = { refreshSupport = true } } }, handlers = {
  ['workspace/codeLens/refresh'] = function()
    vim.tbl_map(lenses, vim.api.nvim_list_bufs())
    return vim.NIL
  end } })
local function run(command, arguments)
  return function()
    for _, it in ipairs(vim.lsp.get_clients({ name = 'indwell' })) do
      it:exec_cmd({ title = command, command = command, arguments = arguments })
    end
  end
end
local function choose(title)
  return function()
    vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.title:find(title, 1, true) == 1 end })
  end
end
vim.keymap.set('n', '<leader>ia', choose('Accept this change'), { desc = 'Indwell: accept this change' })
vim.keymap.set('n', '<leader>ir', choose('Reject this change'), { desc = 'Indwell: reject this change' })
vim.keymap.set('n', '<leader>ic', run('indwell.chat'), { desc = 'Indwell: chat' })
vim.keymap.set('n', '<leader>ig', choose('Send'), { desc = 'Indwell: send the chat (go)' })
vim.keymap.set('n', '<leader>is', run('indwell.cancel'), { desc = 'Indwell: stop' })
"""

_OLDER = r"""local clients, ask = {}, nil
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, { callback = function(event)
  local git = vim.fn.finddir('.git', vim.fn.escape(vim.fn.fnamemodify(event.match, ':p:h'), ' ,') .. ';')
  if git == '' then return end
  local root = vim.fn.fnamemodify(git, ':p:h:h')
  local can = vim.lsp.protocol.make_client_capabilities()
  can.experimental = { indwell = { save = true, words = ask ~= nil } }
  clients[root] = clients[root] or vim.lsp.start_client({ name = 'indwell', cmd = @COMMAND@,
    root_dir = root, flags = { debounce_text_changes = 0 }, capabilities = can, handlers = {
      ['window/showMessageRequest'] = function(...) return (ask or vim.lsp.handlers['window/showMessageRequest'])(...) end,
      ['indwell/save'] = function(_, q) return { saved = vim.tbl_filter(function(uri)
        return vim.api.nvim_buf_call(vim.uri_to_bufnr(uri), function()
          return pcall(vim.cmd, 'silent update') and not vim.bo.modified end) end, q.uris) } end } })
  vim.lsp.buf_attach_client(event.buf, clients[root])
end })
"""

_OLDER_QUESTIONS = (
    r"""-- Words such as allow-once answer a question of Indwell; keys that were typed before it are dropped.
"""
    + _WORDS
    + r"""ask = function(_, it)
  local words, note, quits = words_of(it.actions), '', 0
  local lines = { it.message, '' }
  for at, action in ipairs(it.actions) do table.insert(lines, ('  %s: %s'):format(words[at], (action.title:gsub('%c', ' ')))) end
  while true do
    local is_quiet
    repeat
      vim.wait(300)
      is_quiet = true
      while vim.fn.getchar(0) ~= 0 do is_quiet = false end
    until is_quiet
    local prompt = ('\n%s\n%sType a word (%s) and <Enter>: '):format(table.concat(lines, '\n'), note, table.concat(words, ', '))
    local text = vim.fn.input({ prompt = prompt, cancelreturn = '<Esc>' })
    local at = chosen(words, text)
    if at then return it.actions[at] end
    quits = text == '<Esc>' and quits + 1 or 0
    if quits == 2 then return vim.NIL end
    note = quits == 1 and 'Press <Esc> again to give no answer.\n' or ('"%s" is not one of the words.\n'):format(text)
  end
end
"""
)

_OLDER_KEYS = r"""-- What Indwell changed: lenses above it; ]d and [d go from change to change.
vim.api.nvim_create_autocmd({ 'BufEnter', 'BufWritePost', 'CursorHold' }, { callback = function(event)
  for _, it in pairs(vim.lsp.buf_get_clients(event.buf)) do -- with none, this Neovim would wait for lenses for good
    if it.name == 'indwell' then vim.lsp.codelens.refresh() end
  end
end })
vim.keymap.set('n', ']d', vim.diagnostic.goto_next)
vim.keymap.set('n', '[d', vim.diagnostic.goto_prev)
vim.keymap.set('n', 'gra', vim.lsp.buf.code_action)
vim.keymap.set('n', '<leader>ic', function() vim.lsp.buf.execute_command({ command = 'indwell.chat' }) end)
vim.keymap.set('n', '<leader>is', function() vim.lsp.buf.execute_command({ command = 'indwell.cancel' }) end)
"""

_NEXT = (
    "Restart Neovim, open a file of a folder with .git, and press gra on a line.",
    "`:checkhealth vim.lsp` says whether the server runs.",
)

NEOVIM = EditorConfiguration(
    editor="Neovim",
    page="neovim.md",
    language="lua",
    blocks=(_OWN_FILE, _BASE, _CHECKS, _MORE, _QUESTIONS, _KEYS),
    words=lua_list,
    word=lua,
    comment="--",
    next_steps=_NEXT,
)

NEOVIM_OLDER = EditorConfiguration(
    editor="Neovim 0.7 to 0.10",
    page="neovim-older.md",
    language="lua",
    blocks=(_OLDER, _OLDER_QUESTIONS, _OLDER_KEYS),
    words=lua_list,
    word=lua,
    comment="--",
    next_steps=_NEXT[:1],
)
