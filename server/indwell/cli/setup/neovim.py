"""The configuration of Neovim, 0.11 and older."""

from __future__ import annotations

from indwell.cli.setup.configuration import Configuration
from indwell.cli.setup.quoting import lua, lua_list

_BASE = r"""vim.lsp.config('indwell', { cmd = @COMMAND@, flags = { debounce_text_changes = 0 },
  root_markers = { '.git', '.indwell' }, workspace_required = true,
  capabilities = { experimental = { indwell = { ask = true, save = true } } }, handlers = {
  ['indwell/ask'] = function(_, q) return { text = vim.fn.input({ prompt = q.prompt .. ': ', cancelreturn = vim.NIL }) } end,
  ['indwell/save'] = function(_, q) return { saved = vim.tbl_filter(function(uri) return vim.api.nvim_buf_call(
    vim.uri_to_bufnr(uri), function() return pcall(vim.cmd.update) and not vim.bo.modified end) end, q.uris) } end } })
vim.lsp.enable('indwell')
vim.api.nvim_create_autocmd({ 'DiagnosticChanged', 'LspAttach' }, { callback = function(event)
  local found = { uri = vim.uri_from_bufnr(event.buf), diagnostics = vim.lsp.diagnostic.from(vim.diagnostic.get(event.buf)) }
  for _, it in ipairs(vim.lsp.get_clients({ name = 'indwell' })) do it:notify('indwell/didChangeDiagnostics', found) end end })
"""

_MORE = r"""-- All answers of a session in one window, the newest first, instead of a window each.
vim.lsp.config('indwell', { capabilities = { experimental = { indwell = { reread = true } } }, handlers = {
  ['window/showDocument'] = function(err, it, context)
    local shown = vim.lsp.handlers[context.method](err, it, context)
    vim.cmd.checktime(vim.uri_to_bufnr(it.uri))
    return shown
  end } })
-- Each step of a turn below the text, cut to the width that needs no <Enter>.
vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
  local now = event.data.params.value
  vim.api.nvim_echo({ { ('%s: %s'):format(now.title, now.message or ''):sub(1, vim.v.echospace) } }, false, {})
end })
-- Messages of language servers without the <Enter> that Neovim 0.11 asks for after each.
vim.lsp.handlers['window/showMessage'] = function(_, it) vim.notify(it.message, 5 - it.type) end
-- Code actions of a selection that leave Visual mode; in it Neovim 0.11 waits for a key before it goes on.
vim.keymap.set('x', 'gra', '<Esc><Cmd>lua vim.lsp.buf.code_action({ range = { start ='
  .. ' vim.api.nvim_buf_get_mark(0, "<"), ["end"] = vim.api.nvim_buf_get_mark(0, ">") } })<CR>')
"""

_KEYS = r"""-- What Indwell changed: lenses above it, and keys. ]d and [d go from change to change.
vim.api.nvim_create_autocmd({ 'LspAttach', 'BufEnter', 'BufWritePost' }, { callback = function(event)
  if #vim.lsp.get_clients({ bufnr = event.buf, name = 'indwell' }) > 0 then vim.lsp.codelens.refresh({ bufnr = event.buf }) end
end })
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

_OLDER = r"""local clients = {}
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, { callback = function(event)
  local git = vim.fn.finddir('.git', vim.fn.escape(vim.fn.fnamemodify(event.match, ':p:h'), ' ,') .. ';')
  if git == '' then return end
  local root = vim.fn.fnamemodify(git, ':p:h:h')
  local can = vim.lsp.protocol.make_client_capabilities()
  can.experimental = { indwell = { save = true } }
  clients[root] = clients[root] or vim.lsp.start_client({ name = 'indwell', cmd = @COMMAND@,
    root_dir = root, flags = { debounce_text_changes = 0 }, capabilities = can, handlers = {
      ['indwell/save'] = function(_, q) return { saved = vim.tbl_filter(function(uri)
        return vim.api.nvim_buf_call(vim.uri_to_bufnr(uri), function()
          return pcall(vim.cmd, 'silent update') and not vim.bo.modified end) end, q.uris) } end } })
  vim.lsp.buf_attach_client(event.buf, clients[root])
end })
"""

_OLDER_KEYS = r"""-- What Indwell changed: lenses above it; ]d and [d go from change to change.
vim.cmd([[autocmd BufEnter,BufWritePost * silent! lua vim.lsp.codelens.refresh()]])
vim.keymap.set('n', ']d', vim.diagnostic.goto_next)
vim.keymap.set('n', '[d', vim.diagnostic.goto_prev)
vim.keymap.set('n', 'gra', vim.lsp.buf.code_action)
vim.keymap.set('n', '<leader>ic', function() vim.lsp.buf.execute_command({ command = 'indwell.chat' }) end)
vim.keymap.set('n', '<leader>is', function() vim.lsp.buf.execute_command({ command = 'indwell.cancel' }) end)
"""

_NEXT = (
    "Start Neovim anew, open a file of a folder with .git, and press gra on a line.",
    "`:checkhealth vim.lsp` says whether the server runs.",
)

NEOVIM = Configuration(
    editor="Neovim",
    page="neovim.md",
    language="lua",
    blocks=(_BASE, _MORE, _KEYS),
    words=lua_list,
    word=lua,
    comment="--",
    next_steps=_NEXT,
)

NEOVIM_OLDER = Configuration(
    editor="Neovim 0.7 to 0.10",
    page="neovim-older.md",
    language="lua",
    blocks=(_OLDER, _OLDER_KEYS),
    words=lua_list,
    word=lua,
    comment="--",
    next_steps=_NEXT[:1],
)
