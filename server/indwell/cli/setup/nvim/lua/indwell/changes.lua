-- Changes that wait for a review: signs, the old lines above the new ones, and the way from change to change.
local client = require('indwell.client')

local changes = {}
local REDRAW_MS = 80 -- changes of this time are drawn at once
local WORD_LIMIT = 500 -- bytes of a line; longer lines are marked as a whole
local space = vim.api.nvim_create_namespace('indwell.changes')
local rows = {} -- pending changes by buffer, in the order of their lines
local due = {} -- buffers whose changes are read in a moment, with the client

local function split(text)
  if text == '' then return {} end
  return vim.split((text:gsub('\r?\n$', '')), '\r?\n')
end

local function is_inside(line, at) return at > 0 and at < #line and line:byte(at + 1) >= 128 and line:byte(at + 1) < 192 end

-- Returns where two lines begin and end to differ, between characters: the common start, and the common end.
local function difference(old, new)
  if #old > WORD_LIMIT or #new > WORD_LIMIT then return 0, 0 end
  local most = math.min(#old, #new)
  local start, stop = 0, 0
  while start < most and old:byte(start + 1) == new:byte(start + 1) do
    start = start + 1
  end
  while is_inside(old, start) or is_inside(new, start) do
    start = start - 1
  end
  while stop < most - start and old:byte(#old - stop) == new:byte(#new - stop) do
    stop = stop + 1
  end
  while is_inside(old, #old - stop) or is_inside(new, #new - stop) do
    stop = stop - 1
  end
  return start, stop
end

-- Returns the old line as parts of virtual text, the different part highlighted.
local function old_line(old, new)
  local shown = old:gsub('\t', (' '):rep(vim.bo.tabstop))
  if not new or old:find('\t') then return { { shown, 'IndwellOld' } } end
  local start, stop = difference(old, new)
  local parts = {
    { old:sub(1, start), 'IndwellOld' },
    { old:sub(start + 1, #old - stop), 'IndwellOldText' },
    { old:sub(#old - stop + 1), 'IndwellOld' },
  }
  return vim.tbl_filter(function(part) return part[1] ~= '' end, parts)
end

local function draw_new(buffer, first, old, new)
  for at, line in ipairs(new) do
    local number = first + at - 1
    local mark = { sign_text = old[1] and '~' or '+', sign_hl_group = 'IndwellSign', priority = 20 }
    vim.api.nvim_buf_set_extmark(buffer, space, number, 0, mark)
    if old[1] then -- below the colours of the language
      local whole = { end_row = number + 1, hl_group = 'IndwellNew', hl_eol = true, priority = 10, strict = false }
      vim.api.nvim_buf_set_extmark(buffer, space, number, 0, whole)
    end
    if #old == #new then
      local start, stop = difference(old[at], line)
      if start < #line - stop then
        vim.api.nvim_buf_set_extmark(
          buffer,
          space,
          number,
          start,
          { end_col = #line - stop, hl_group = 'IndwellNewText' }
        )
      end
    end
  end
end

local function draw(buffer, row)
  local old, new = split(row.old), split(row.new)
  local count = vim.api.nvim_buf_line_count(buffer)
  local first = math.min(row.range.start.line, count - 1)
  local present = vim.api.nvim_buf_get_lines(buffer, first, first + #new, false)
  draw_new(buffer, first, row.kind == 'change' and old or {}, present)
  if row.kind ~= 'change' or not old[1] then return end
  local shown = {}
  for at, line in ipairs(old) do
    table.insert(shown, old_line(line, #old == #new and present[at] or nil))
  end
  local is_above = row.range.start.line < count
  local mark = { virt_lines = shown, virt_lines_above = is_above }
  if not new[1] then
    mark.sign_text, mark.sign_hl_group, mark.priority = '-', 'IndwellSign', 20
  end
  vim.api.nvim_buf_set_extmark(buffer, space, first, 0, mark)
  if first == 0 and is_above then -- Neovim shows lines above the first one only after a scroll
    for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
      vim.api.nvim_win_call(window, function()
        if vim.fn.line('w0') == 1 then vim.fn.winrestview({ topfill = #shown }) end
      end)
    end
  end
end

local function read(buffer, it)
  client.request('indwell/changes', { uri = vim.uri_from_bufnr(buffer) }, function(result)
    if not vim.api.nvim_buf_is_loaded(buffer) then return end
    rows[buffer] = result.changes
    vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
    for _, row in ipairs(result.changes) do
      draw(buffer, row)
    end
    local data = { buf = buffer, count = #result.changes, pending = result.pending, client_id = it.id }
    vim.api.nvim_exec_autocmds('User', { pattern = 'IndwellChanges', data = data })
  end, it)
end

function changes.refresh(buffer, it)
  if due[buffer] then return end
  due[buffer] = it
  vim.defer_fn(
    client.guarded(function()
      due[buffer] = nil
      if vim.api.nvim_buf_is_loaded(buffer) and vim.lsp.buf_is_attached(buffer, it.id) then read(buffer, it) end
    end),
    REDRAW_MS
  )
end

local function refresh_all(it)
  for buffer in pairs(it.attached_buffers) do
    changes.refresh(buffer, it)
  end
end

-- Returns the change at the cursor: the one whose lines contain it, or whose removed lines are shown there.
function changes.at_cursor()
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, row in ipairs(rows[vim.api.nvim_get_current_buf()] or {}) do
    local first = math.min(row.range.start.line, vim.api.nvim_buf_line_count(0) - 1)
    if first <= line and line < math.max(first + 1, first + #split(row.new)) then return row end
  end
end

local function go(row)
  local buffer = vim.uri_to_bufnr(row.uri)
  if buffer ~= vim.api.nvim_get_current_buf() then
    vim.bo[buffer].buflisted = true
    local ok, problem = pcall(vim.cmd.buffer, buffer)
    if not ok then
      return client.warn(('%s cannot be shown here (%s).'):format(row.path, tostring(problem):match('E%d+.*')))
    end
  end
  vim.cmd("normal! m'")
  local line = math.min(row.range.start.line + 1, vim.api.nvim_buf_line_count(0))
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd('silent! normal! zv')
end

-- Goes to the next (`step` 1) or previous (-1) change of all files, round and round.
function changes.go(step)
  client.request('indwell/changes', vim.empty_dict(), function(result)
    local all = result.changes
    if #all == 0 then return client.say('no change waits for a review.') end
    local here, line = vim.uri_from_bufnr(0), vim.api.nvim_win_get_cursor(0)[1] - 1
    local first, last = 1, #all
    local from, to = step > 0 and first or last, step > 0 and last or first
    local in_file, is_behind
    for at = from, to, step do
      local row = all[at]
      if row.uri == here then
        in_file = true
        if (row.range.start.line - line) * step > 0 then return go(row) end
      elseif in_file then
        is_behind = row
        break
      end
    end
    go(is_behind or all[from])
  end)
end

-- Lists all changes in the quickfix list.
function changes.list()
  client.request('indwell/changes', vim.empty_dict(), function(result)
    if #result.changes == 0 then return client.say('no change waits for a review.') end
    local items = vim.tbl_map(function(row)
      local words = split(row.new)[1] or split(row.old)[1] or row.note
      return {
        filename = vim.uri_to_fname(row.uri),
        lnum = row.range.start.line + 1,
        text = ('turn %d, +%d −%d: %s'):format(row.turn, #split(row.new), #split(row.old), vim.trim(words)),
      }
    end, result.changes)
    vim.fn.setqflist({}, ' ', { title = 'Changes of Indwell', items = items })
    vim.cmd('botright copen ' .. math.min(10, #items + 1))
    vim.cmd.wincmd('p')
  end)
end

local SCOPES = {
  file = function() return { uri = vim.uri_from_bufnr(0) } end,
  all = function() return { all = true } end,
  turn = function()
    local row = changes.at_cursor()
    return row and { turn = row.turn, session = row.session }
  end,
  change = function()
    local row = changes.at_cursor()
    return row and { hunks = { row.id } }
  end,
}

-- Accepts or rejects (`verb`) the change at the cursor, or those of a scope: file, turn, all.
function changes.decide(verb, scope)
  local argument = SCOPES[scope] and SCOPES[scope]()
  if not argument then
    return client.warn('no change of Indwell is in this line; `:Indwell next` goes to the next one.')
  end
  client.run('indwell.' .. verb, argument)
end

function changes.setup()
  local links = {
    IndwellOld = 'DiffDelete',
    IndwellOldText = 'DiffText',
    IndwellNew = 'DiffAdd',
    IndwellNewText = 'DiffText',
    IndwellSign = 'Special',
  }
  for name, link in pairs(links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
  client.on_event(function(_, event, it)
    if event.type == 'hunksChanged' then refresh_all(it) end
  end)
  vim.api.nvim_create_autocmd('LspAttach', {
    callback = client.guarded(function(event)
      local it = vim.lsp.get_client_by_id(event.data.client_id)
      if it and it.name == 'indwell' then changes.refresh(event.buf, it) end
    end),
  })
  vim.api.nvim_create_autocmd({ 'BufWipeout', 'BufUnload' }, { callback = function(event) rows[event.buf] = nil end })
end

return changes
