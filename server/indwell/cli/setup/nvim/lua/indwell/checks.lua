-- Which problems each checker knows, and of which text: Indwell calls verified only what was checked as it is now.
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
