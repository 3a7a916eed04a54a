-- Lenses above the changes of Indwell.
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
