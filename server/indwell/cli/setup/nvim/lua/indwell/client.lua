-- The connection to the server: where the server starts, and how the plugin talks to the server.
local messages = require('indwell.messages')

local client = { options = { cmd = { 'indwell', 'serve', '--stdio' }, keys = true, answers = 'split' } }

local MARKERS = { '.git', '.indwell' }
local waiting = {} -- functions to call once a client is ready, by the client's id
local listeners = {}

function client.say(words) messages.show('Indwell: ' .. words, vim.log.levels.INFO) end

function client.warn(words) messages.show('Indwell: ' .. words, vim.log.levels.WARN) end

-- Returns a function that shows an error of `act` as a sentence.
function client.guarded(act)
  return function(...)
    local ok, result = pcall(act, ...)
    if ok then return result end
    client.warn('the plugin failed (' .. tostring(result):gsub('\n.*', '') .. '). Please report this.')
  end
end

-- Waits, in the handler of a request, for the answer that `begin` gives to its argument.
function client.awaited(begin)
  local this = coroutine.running()
  vim.schedule(client.guarded(function() -- the handler waits by then, even if the answer comes at once
    begin(function(answer)
      vim.schedule(function() coroutine.resume(this, answer) end)
    end)
  end))
  return coroutine.yield()
end

-- Returns the buffer's file; nil for a buffer without one, such as an unnamed buffer or a listing of a folder.
function client.file_of(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local is_file = vim.bo[buffer].buftype == '' and name ~= '' and not name:match('^%a[%w+.-]+://')
  return is_file and vim.fn.isdirectory(name) == 0 and name or nil
end

-- Returns the project of the buffer; a buffer without a file is in the project of the folder that the buffer shows.
function client.root(buffer)
  local file = client.file_of(buffer)
  if file then return vim.fs.root(file, MARKERS) end
  local name = vim.api.nvim_buf_get_name(buffer)
  local shown = vim.b[buffer].netrw_curdir or name:gsub('^%a[%w+.-]+://', '')
  return vim.fs.root(vim.fn.isdirectory(shown) == 1 and shown or vim.fn.getcwd(), MARKERS)
end

-- Returns the client for the current buffer, which may not be ready yet; otherwise nil and the reason.
function client.current()
  local buffer = vim.api.nvim_get_current_buf()
  local found = vim.lsp.get_clients({ bufnr = buffer, name = 'indwell' })[1]
  local running = vim.lsp.get_clients({ name = 'indwell' })
  local root = client.root(buffer)
  for _, it in ipairs(running) do
    found = found or root and it.root_dir == root and it or nil
  end
  found = found or #running == 1 and running[1] or nil
  if found then return found end
  local program = client.options.cmd[1]
  if vim.fn.executable(program) == 0 then
    return nil, ('%s is not a program here. Write the configuration again: indwell setup nvim --write'):format(program)
  end
  if not root then
    local folder = client.file_of(buffer) and vim.fs.dirname(client.file_of(buffer)) or vim.fn.getcwd()
    return nil, ('%s is in no project. Make a folder a project with `mkdir .indwell`, then try again.'):format(folder)
  end
  local config = vim.tbl_extend('force', vim.lsp.config.indwell, { root_dir = root })
  local id = vim.lsp.start(config, { attach = false, silent = true })
  found = id and vim.lsp.get_client_by_id(id) or nil
  return found, not found and 'the server did not start; `:checkhealth indwell` says more.' or nil
end

-- Calls `act` with the client for the current buffer as soon as the client is ready; else shows the reason.
function client.with(act)
  local found, reason = client.current()
  if not found then return client.warn(reason) end
  if found.initialized then return act(found) end
  waiting[found.id] = waiting[found.id] or {}
  table.insert(waiting[found.id], act)
end

-- Sends a request; shows an error as a sentence, or calls `done` with the result (nil for null).
function client.request(method, params, done, from)
  local function send(it)
    it:request(method, params, function(err, result)
      if err then return client.warn(err.message) end
      if done then client.guarded(done)(result ~= vim.NIL and result or nil, it) end
    end)
  end
  if from then
    send(from)
  else
    client.with(send)
  end
end

function client.run(command, argument, done, from)
  client.request('workspace/executeCommand', { command = command, arguments = argument and { argument } }, done, from)
end

-- Calls `listen` with each event of the server: session, event, client.
function client.on_event(listen) table.insert(listeners, client.guarded(listen)) end

local function on_event(_, params, context)
  local it = vim.lsp.get_client_by_id(context.client_id)
  for _, listen in ipairs(listeners) do
    listen(params.session, params.event, it)
  end
end

local function on_save(_, params)
  return {
    saved = vim.tbl_filter(function(uri)
      return vim.api.nvim_buf_call(
        vim.uri_to_bufnr(uri),
        function() return pcall(vim.cmd.update) and not vim.bo.modified end
      )
    end, params.uris),
  }
end

-- Shows a document of the server; the document of a plan gets this client, and so the client's code actions.
local function on_show(err, params, context)
  local shown = vim.lsp.handlers[context.method](err, params, context)
  if params.external then return shown end
  local buffer = vim.uri_to_bufnr(params.uri)
  vim.cmd.checktime(buffer)
  if vim.api.nvim_buf_get_name(buffer):match('plan%.md$') then vim.lsp.buf_attach_client(buffer, context.client_id) end
  return shown
end

function client.start()
  vim.lsp.config('indwell', {
    cmd = client.options.cmd,
    flags = { debounce_text_changes = 0 },
    root_dir = function(buffer, on_root)
      local root = client.file_of(buffer) and client.root(buffer)
      if root then on_root(root) end
    end,
    capabilities = { experimental = { indwell = { ask = true, save = true, stream = true } } },
    on_init = function(it)
      for _, act in ipairs(waiting[it.id] or {}) do
        client.guarded(act)(it)
      end
      waiting[it.id] = nil
    end,
    handlers = {
      ['window/showMessage'] = function(_, it) messages.show(it.message, 5 - it.type) end,
      ['indwell/event'] = on_event,
      ['indwell/save'] = on_save,
      ['window/showDocument'] = on_show,
    },
  })
  if vim.fn.executable(client.options.cmd[1]) == 1 then vim.lsp.enable('indwell') end
end

return client
