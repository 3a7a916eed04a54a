local clients, ask = {}, nil
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
