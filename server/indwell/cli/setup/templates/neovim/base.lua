vim.lsp.config('indwell', { cmd = @COMMAND@, flags = { debounce_text_changes = 0 },
  root_markers = { '.git', '.indwell' }, workspace_required = true,
  capabilities = { experimental = { indwell = { ask = true, save = true } } }, handlers = {
  ['indwell/ask'] = function(_, q) return { text = vim.fn.input({ prompt = q.prompt .. ': ', cancelreturn = vim.NIL }) } end,
  ['indwell/save'] = function(_, q) return { saved = vim.tbl_filter(function(uri) return vim.api.nvim_buf_call(
    vim.uri_to_bufnr(uri), function() return pcall(vim.cmd.update) and not vim.bo.modified end) end, q.uris) } end } })
vim.lsp.enable('indwell'); vim.api.nvim_create_autocmd({ 'DiagnosticChanged', 'LspAttach' }, { callback = function(event)
  local others = vim.tbl_filter(function(it) return it.source ~= 'indwell' end, vim.diagnostic.get(event.buf))
  local found = { uri = vim.uri_from_bufnr(event.buf), diagnostics = vim.lsp.diagnostic.from(others) }
  for _, it in ipairs(vim.lsp.get_clients({ name = 'indwell' })) do it:notify('indwell/didChangeDiagnostics', found) end end })
