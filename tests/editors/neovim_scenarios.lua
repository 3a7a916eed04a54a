-- nvim -l neovim_scenarios.lua SCENARIO PLACE REPORT: plays one scenario, writes what Neovim saw.
-- PLACE is JSON: path, first, last, and further values that the scenario needs.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(arg[2])
local scenarios = {}

local function state(buffer)
  return {
    buffer = user.text(buffer),
    disk = user.disk(place.path),
    modified = vim.bo[buffer].modified,
    messages = user.messages(),
    warning = vim.v.warningmsg,
    progress = user.progress,
    questions = user.questions(),
    clients = #vim.lsp.get_clients(),
    encoding = user.client().offset_encoding,
  }
end

function scenarios.actions()
  user.open(place.path)
  local selection = user.choose(place.first, place.last)
  local space = vim.api.nvim_create_namespace('another server')
  vim.diagnostic.set(space, 0, {
    { lnum = place.first - 1, col = 0, message = 'wrong result', severity = 1, source = 'linter' },
  })
  user.keys(place.first .. 'G')
  local before = #user.choices
  user.keys('gra')
  user.wait('code actions', function() return #user.choices > before end)
  -- Some plugins ask for code actions like this, to show a sign where something can be fixed.
  vim.lsp.buf.code_action({ context = { only = { 'quickfix' }, triggerKind = 2 } })
  user.wait('automatic code actions', function() return #user.choices > before + 1 end)
  return {
    selection = selection,
    line = user.choices[before + 1],
    automatic = user.choices[before + 2],
    mapped = vim.fn.maparg('gra', 'n') ~= '' and vim.fn.maparg('gra', 'x') ~= '',
  }
end

function scenarios.mend()
  local buffer = user.open(place.path)
  local original = user.text(buffer)
  local tick = vim.fn.undotree().seq_last
  user.turn(place.first, place.last, 'Fix this')
  user.wait_for_message('Indwell: done')
  local report = state(buffer)
  report.original = original
  report.steps = vim.fn.undotree().seq_last - tick
  vim.cmd.checktime()
  vim.cmd.write()
  report.written = user.disk(place.path)
  report.check = vim.system(place.check, { cwd = place.root }):wait().code
  vim.cmd.undo()
  report.undone = user.text(buffer)
  report.warning = vim.v.warningmsg
  report.messages = user.messages()
  return report
end

function scenarios.diagnostic()
  local buffer = user.open(place.path)
  local space = vim.api.nvim_create_namespace('another server')
  vim.diagnostic.set(space, 0, {
    { lnum = place.last - 1, col = 0, message = 'it is wrong 🙂', severity = 1, source = 'linter' },
  })
  user.turn(place.first, place.last, 'Fix this')
  user.wait_for_message('Indwell: done')
  return state(buffer)
end

-- Another server reports, one second after the edit, a problem that the edit caused.
function scenarios.slow_linter()
  local buffer = user.open(place.path)
  local space = vim.api.nvim_create_namespace('another server')
  local function found(line, message)
    vim.diagnostic.set(space, buffer, {
      { lnum = line, col = 0, message = message, severity = 1, source = 'linter' },
    })
  end
  found(0, 'it was wrong before')
  local is_edited = false
  vim.api.nvim_buf_attach(buffer, false, { on_lines = function()
    if is_edited then return true end
    is_edited = true
    vim.defer_fn(function() found(place.last - 1, 'the edit broke this') end, 1000)
  end })
  user.turn(place.first, place.last, 'Fix this')
  user.wait_for_message('Indwell: done')
  return state(buffer)
end

-- Starts two language servers; `place.slow` says how the slow server reacts to a changed text.
function scenarios.two_servers()
  local function server(name, changed)
    local function cmd(dispatchers)
      local function publish(uri, version, messages)
        local problems = vim.tbl_map(function(message)
          local start = { line = place.last - 1, character = 0 }
          return { range = { start = start, ['end'] = start }, severity = 1, message = message, source = name }
        end, messages)
        dispatchers.notification('textDocument/publishDiagnostics', { uri = uri, version = version, diagnostics = problems })
      end
      local closing = false
      return {
        request = function(method, _, callback)
          local result = method == 'initialize' and { capabilities = { textDocumentSync = 1 } } or vim.NIL
          vim.schedule(function() callback(nil, result) end)
          return true, 1
        end,
        notify = function(method, params)
          local document = (params or {}).textDocument
          if method == 'textDocument/didOpen' then publish(document.uri, document.version, {}) end
          if method == 'textDocument/didChange' then changed(publish, document.uri, document.version) end
          return true
        end,
        is_closing = function() return closing end,
        terminate = function() closing = true end,
      }
    end
    vim.lsp.start({ name = name, cmd = cmd, root_dir = place.root }, { bufnr = 0 })
  end
  local function now(publish, uri, version) publish(uri, version, {}) end
  local does = {
    rechecks = now,
    ['rechecks late'] = function(publish, uri, version)
      vim.defer_fn(function() publish(uri, version, {}) end, 800)
    end,
    ['finds an error'] = function(publish, uri, version)
      vim.defer_fn(function() publish(uri, version, { 'the edit broke this' }) end, 300)
    end,
    ['speaks of the old text'] = function(publish, uri)
      publish(uri, 0, { 'of a line that is gone' })
    end,
    ['names no version'] = function(publish, uri) publish(uri, nil, { 'of any text' }) end,
    ['is silent'] = function() end,
  }
  user.open(place.path)
  if place.slow ~= 'is not there' then
    server('quick', now)
    server('slow', does[place.slow])
    user.wait('two servers', function() return #vim.lsp.get_clients({ bufnr = 0 }) == 3 end)
  end
  user.turn(place.first, place.last, place.slow == 'is not there' and 'Fix this' or 'Fix this [indwell]')
  user.wait_for_message('Indwell: done')
  return { messages = user.messages() }
end

function scenarios.fix_all()
  local buffer = user.open(place.path)
  local space = vim.api.nvim_create_namespace('another server')
  vim.diagnostic.set(space, 0, {
    { lnum = place.first - 1, col = 0, message = 'one thing', severity = 1 },
    { lnum = place.last - 1, col = 0, message = 'another thing', severity = 2, code = 7 },
  })
  user.turn(1, 1, 'Fix all problems in this file')
  user.answer_beside()
  return state(buffer)
end

function scenarios.refuse()
  local buffer = user.open(place.path)
  user.permit = function() return 'No' end
  user.turn(place.first, place.last, 'Fix this')
  local report = state(buffer)
  report.answer = user.answer_beside()
  return report
end

-- A hook refuses the edit of the model, and the model says so in the chat.
function scenarios.stopped()
  local buffer = user.open(place.path)
  user.turn(place.first, place.last, 'Fix this')
  local answer = user.answer_beside()
  local report = state(buffer)
  report.answer = answer
  return report
end

function scenarios.cancel()
  local buffer = user.open(place.path)
  local took = {}
  local function stop(how)
    return function()
      took[#took + 1] = user.ms()
      how()
    end
  end
  local ways = {
    function()
      local token = next(user.client().progress.pending)
      user.client():notify('window/workDoneProgress/cancel', { token = token })
    end,
    function() user.client():exec_cmd({ command = 'indwell.cancel' }) end,
    function() user.choose(place.first, place.last, 'Stop the running turn') end,
    function() user.keys('\\is') end,
  }
  local ends = {}
  for index, way in ipairs(ways) do
    ends[index] = user.turn(place.first, place.last, 'Fix this', stop(way))
    took[index] = ends[index].ms - took[index]
  end
  -- The user also stops the turn while a question is open; the answer then comes too late.
  user.permit = function() end
  user.turn(place.first, place.last, 'Fix this', function()
    user.wait('the question', function() return #user.questions() > 0 end)
    took[#took + 1] = user.ms()
    ways[2]()
  end)
  took[#took] = user.progress[#user.progress].ms - took[#took]
  user.answer('Once')
  local report = state(buffer)
  report.ends = vim.tbl_map(function(one) return one.message end, ends)
  report.took = took
  return report
end

local function append_to(buffer, line)
  local text = vim.api.nvim_buf_get_lines(buffer, line - 1, line, false)[1]
  vim.api.nvim_buf_set_lines(buffer, line - 1, line, false, { text .. '  # mine' })
end

function scenarios.edited_while_asked()
  local buffer = user.open(place.path)
  user.permit = function()
    append_to(buffer, place.last)
    user.permit = function() return 'Once' end
    return 'Once'
  end
  user.turn(place.first, place.last, 'Fix this')
  local report = state(buffer)
  report.ending = user.ending()
  return report
end

function scenarios.edited_at_the_same_moment()
  local buffer = user.open(place.path)
  if place.typed_before then append_to(buffer, 1) end
  local apply = vim.lsp.handlers['workspace/applyEdit']
  vim.lsp.handlers['workspace/applyEdit'] = function(...)
    vim.lsp.handlers['workspace/applyEdit'] = apply
    append_to(buffer, place[place.touched])
    return apply(...)
  end
  user.turn(place.first, place.last, 'Fix this')
  local report = state(buffer)
  report.ending = user.ending()
  return report
end

function scenarios.ask()
  local buffer = user.open(place.path)
  user.choose(place.first, place.last, 'Ask about this…') -- the user presses <Esc> at the prompt
  user.wait('the prompt', function() return #user.inputs == 1 end)
  user.typed = 'Why is this so?'
  user.turn(place.first, place.last, 'Ask about this…')
  local report = state(buffer)
  report.answer = user.answer_beside()
  report.inputs = user.inputs
  report.focus_stayed = vim.api.nvim_get_current_buf() == buffer
  return report
end

function scenarios.two_answers()
  local buffer = user.open(place.path)
  user.typed = 'Why is this so?'
  user.turn(place.first, place.last, 'Ask about this…')
  local first = user.answer_beside()
  user.turn(place.first, place.last, 'Ask about this…')
  local second
  user.wait('the second answer', function()
    second = user.answer_beside()
    return second ~= first
  end)
  local report = state(buffer)
  report.first, report.second, report.windows = first, second, #vim.api.nvim_list_wins()
  report.focus_stayed = vim.api.nvim_get_current_buf() == buffer
  return report
end

function scenarios.progress_line()
  user.open(place.path)
  local echoed
  vim.api.nvim_echo = function(chunks) echoed = chunks[1][1] end
  local value = { kind = 'report', title = 'é', message = ('🙂'):rep(200) }
  vim.api.nvim_exec_autocmds('LspProgress', { data = { params = { token = 'one', value = value } } })
  return { echoed = echoed, width = vim.fn.strdisplaywidth(echoed), room = vim.v.echospace }
end

function scenarios.edited_elsewhere()
  local buffer = user.open(place.path)
  local client = vim.lsp.get_clients({ name = 'indwell' })[1]
  local original = user.text(buffer)
  vim.cmd.enew()
  local apply = client.handlers['workspace/applyEdit'] or vim.lsp.handlers['workspace/applyEdit']
  local start = { line = 0, character = 0 }
  for _, words in ipairs({ '# one\n', '# two\n' }) do
    local edits = { { newText = words, range = { start = start, ['end'] = start } } }
    local document = { uri = vim.uri_from_bufnr(buffer), version = 0 }
    local edit = { documentChanges = { { textDocument = document, edits = edits } } }
    apply(nil, { edit = edit }, { client_id = client.id, method = 'workspace/applyEdit' })
  end
  local report = { original = original, edited = user.text(buffer), undone = {} }
  vim.cmd.buffer(buffer)
  for _ = 1, 2 do
    vim.cmd.undo()
    table.insert(report.undone, user.text(buffer))
  end
  return report
end

local report = scenarios[arg[1]]()
local file = assert(io.open(arg[3], 'w'))
file:write(vim.json.encode(report))
file:close()
vim.cmd('qall!')
