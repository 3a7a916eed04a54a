-- Questions about code go to your other language servers; a file that you have not opened is loaded, unseen.
vim.lsp.config('indwell', { capabilities = { experimental = { indwell = { navigate = true } } }, handlers = {
  ['indwell/navigate'] = function(_, it)
    local this, replies, left = coroutine.running(), {}, 0
    local buffer = type(it.uri) == 'string' and vim.fn.bufadd(vim.uri_to_fname(it.uri)) or nil
    if buffer and not vim.api.nvim_buf_is_loaded(buffer) then
      vim.bo[buffer].swapfile = false
      vim.fn.bufload(buffer)
    end
    for _, one in ipairs(vim.lsp.get_clients({ bufnr = buffer, method = it.method })) do
      if one.name ~= 'indwell' then
        left = left + 1
        local column = one.offset_encoding == 'utf-8' and it.byte or it.character
        one:request(it.method, { query = it.query, newName = it.name, context = { includeDeclaration = true },
          textDocument = { uri = it.uri }, position = { line = it.line, character = column } }, function(err, result)
          left = left - 1
          table.insert(replies, { name = one.name, encoding = one.offset_encoding, result = result, error = err and err.message })
          if left == 0 then vim.schedule(function() coroutine.resume(this) end) end
        end, buffer or 0)
      end
    end
    if left > 0 then coroutine.yield() end
    return { replies = replies }
  end } })
