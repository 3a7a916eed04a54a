-- What a statusline says: the mode, what runs, what waits for a review, and how full the context is.
local client = require('indwell.client')

local status = { sessions = {} } -- states of sessions by their id: running, asking, done, stopped or failed
local known = {} -- by the id of the client: mode, model, lacking, pending, context, session

local function changed()
  vim.cmd.redrawstatus({ bang = true })
  vim.api.nvim_exec_autocmds('User', { pattern = 'IndwellStatus' })
end

local function of(it)
  known[it.id] = known[it.id] or { pending = 0 }
  return known[it.id]
end

function status.refresh(it)
  client.request('indwell/status', vim.empty_dict(), function(now)
    local here = of(it)
    here.mode, here.model, here.lacking = now.mode, now.model, now.lacking
    here.session = now.session ~= vim.NIL and now.session or nil
    changed()
  end, it)
end

local function thousands(tokens) return tokens < 1000 and tostring(tokens) or ('%dk'):format(tokens / 1000 + 0.5) end

local function read_context(it)
  client.request('indwell/context', vim.empty_dict(), function(now)
    local room = now.window ~= vim.NIL and now.window
    of(it).context = room and ('%s of %s'):format(thousands(now.used), thousands(room)) or thousands(now.used)
    changed()
  end, it)
end

local ENDINGS = { done = 'done', cancelled = 'stopped' }

function status.setup()
  client.on_event(function(session, event, it)
    if event.agent ~= '' then return end
    local kind = event.type
    if kind == 'turnStarted' then
      status.sessions[session] = 'running'
    elseif kind == 'permissionAsked' or kind == 'questionAsked' then
      status.sessions[session] = 'asking'
    elseif kind == 'permissionAnswered' or kind == 'questionAnswered' then
      status.sessions[session] = 'running'
    elseif kind == 'hunksChanged' then
      of(it).pending = event.pending
    elseif kind == 'turnFinished' then
      status.sessions[session] = ENDINGS[event.ending] or 'failed'
      read_context(it)
    else
      return
    end
    if kind == 'turnStarted' or kind == 'turnFinished' then status.refresh(it) end
    changed()
  end)
  vim.api.nvim_create_autocmd('LspAttach', {
    callback = client.guarded(function(event)
      local it = vim.lsp.get_client_by_id(event.data.client_id)
      if it and it.name == 'indwell' and not (known[it.id] and known[it.id].mode) then status.refresh(it) end
    end),
  })
  vim.api.nvim_create_autocmd('User', {
    pattern = 'IndwellChanges',
    callback = client.guarded(function(event)
      local it = vim.lsp.get_client_by_id(event.data.client_id)
      if not it or of(it).pending == event.data.pending then return end
      of(it).pending = event.data.pending
      changed()
    end),
  })
end

-- The component of a statusline for the current buffer; empty without a client.
function status.line()
  local it = vim.lsp.get_clients({ bufnr = 0, name = 'indwell' })[1] or vim.lsp.get_clients({ name = 'indwell' })[1]
  local here = it and known[it.id]
  if not here or not here.mode then return '' end
  if here.lacking ~= '' then return 'Indwell: no model' end
  local parts = { 'Indwell ' .. here.mode }
  local counts = {}
  for _, state in pairs(status.sessions) do
    counts[state] = (counts[state] or 0) + 1
  end
  for _, state in ipairs({ 'running', 'asking' }) do
    if counts[state] then table.insert(parts, counts[state] > 1 and ('%d %s'):format(counts[state], state) or state) end
  end
  if not counts.running and not counts.asking and here.session then
    table.insert(parts, status.sessions[here.session])
  end
  if here.pending > 0 then table.insert(parts, here.pending .. ' to review') end
  if here.context then table.insert(parts, 'context ' .. here.context) end
  return table.concat(parts, ' · ')
end

return status
