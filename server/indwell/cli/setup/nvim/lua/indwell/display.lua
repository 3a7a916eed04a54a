-- All answers of a session in one window, the newest first, instead of a window each.
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
  it.label = nil -- the steps of the turn name the edit already
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
