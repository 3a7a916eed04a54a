-- What Indwell changed: lenses above it; ]d and [d go from change to change.
vim.api.nvim_create_autocmd({ 'BufEnter', 'BufWritePost', 'CursorHold' }, { callback = function(event)
  for _, it in pairs(vim.lsp.buf_get_clients(event.buf)) do -- with none, this Neovim would wait for lenses for good
    if it.name == 'indwell' then vim.lsp.codelens.refresh() end
  end
end })
vim.keymap.set('n', ']d', vim.diagnostic.goto_next)
vim.keymap.set('n', '[d', vim.diagnostic.goto_prev)
vim.keymap.set('n', 'gra', vim.lsp.buf.code_action)
-- In Neovim 0.7 a selection has a function of its own. Without this key, `gra` would replace the selected text.
vim.keymap.set('x', 'gra', vim.lsp.buf.range_code_action and ':<C-u>lua vim.lsp.buf.range_code_action()<CR>' or vim.lsp.buf.code_action)
vim.keymap.set('n', '<leader>ic', function() vim.lsp.buf.execute_command({ command = 'indwell.chat' }) end)
vim.keymap.set('n', '<leader>is', function() vim.lsp.buf.execute_command({ command = 'indwell.cancel' }) end)
