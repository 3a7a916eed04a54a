-- The command :Indwell: its subcommands, their arguments, and the completion of both.
local client = require('indwell.client')

local command = {}
local ANSWER_MS = 1000 -- the longest time for which a completion waits for the server
local MODES = { 'plan', 'ask', 'review', 'auto' }
local SCOPES = { 'file', 'turn', 'all' }

-- Returns where a task is about: the lines of the command, the characters of a selection, or the cursor.
local function place(given)
  local buffer = vim.api.nvim_get_current_buf()
  local it = client.current()
  if not it or not vim.lsp.buf_is_attached(buffer, it.id) then return {} end
  local first, last = given.line1, given.line2
  local start, stop = { first, 0 }, { last, #(vim.fn.getline(last)) }
  if given.range == 0 then
    start = vim.api.nvim_win_get_cursor(0)
    stop = start
  elseif vim.fn.visualmode() == 'v' and first == vim.fn.line("'<") and last == vim.fn.line("'>") then
    start, stop = vim.api.nvim_buf_get_mark(buffer, '<'), vim.api.nvim_buf_get_mark(buffer, '>')
    stop[2] = math.min(stop[2], #(vim.fn.getline(last)))
  end
  local range = vim.lsp.util.make_given_range_params(start, stop, buffer, it.offset_encoding).range
  return { uri = vim.uri_from_bufnr(buffer), version = vim.lsp.util.buf_versions[buffer], range = range }
end

-- Returns the text that goes with a question from a buffer without a file: the selection, or an unnamed buffer.
local function text_here(given)
  local is_unnamed = vim.api.nvim_buf_get_name(0) == '' and vim.bo.buftype == ''
  if given.range == 0 and not is_unnamed then return nil end
  local first, last = given.range == 0 and 1 or given.line1, given.range == 0 and vim.fn.line('$') or given.line2
  local text = table.concat(vim.fn.getline(first, last), '\n')
  local name = is_unnamed and 'unnamed buffer' or vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ':t')
  return text ~= '' and { kind = 'text', text = text, label = ('%s, lines %d-%d'):format(name, first, last) } or nil
end

-- Asks from a buffer without a file of a project, such as an unnamed buffer, a terminal or a listing of a folder.
local function ask_without_file(given, it)
  local text = text_here(given)
  local function begin(words)
    require('indwell.answers').expect(words)
    client.request('indwell/prompt', { text = words, attachments = text and { text } }, nil, it)
  end
  if given.words ~= '' then return begin(given.words) end
  require('indwell.prompt').open('Ask: ' .. (text and text.label or 'the project'), begin)
end

local function name_of(argument)
  local first, last = argument.range.start.line + 1, argument.range['end'].line + 1
  local path = vim.fn.fnamemodify(vim.uri_to_fname(argument.uri), ':t')
  return first == last and ('%s, line %d'):format(path, first) or ('%s, lines %d–%d'):format(path, first, last)
end

-- Returns a subcommand that begins a task; with `asks`, a task without words opens the window for them.
local function task(name, asks)
  return function(given)
    client.with(function(it)
      local argument = place(given)
      if not argument.uri and name == 'ask' then return ask_without_file(given, it) end
      if not argument.uri then
        return client.warn(
          ('this buffer has no file of a project. `:Indwell %s` needs one; `:Indwell ask` does not.'):format(name)
        )
      end
      local function begin(words)
        argument.text = words
        client.run('indwell.' .. name, argument, nil, it)
      end
      if given.words ~= '' or not asks then return begin(given.words) end
      require('indwell.prompt').open(('%s: %s'):format(asks, name_of(argument)), begin)
    end)
  end
end

local function send_chat()
  local buffer = vim.api.nvim_get_current_buf()
  local is_chat = vim.api.nvim_buf_get_name(buffer):match('%.chat%.md$')
  client.run('indwell.send', is_chat and { uri = vim.uri_from_bufnr(buffer) } or nil)
end

local function open_chat(argument)
  client.run('indwell.chat', vim.tbl_extend('force', { wait = true }, argument), function(result)
    if not result then return end
    local window = vim.fn.bufwinid(vim.uri_to_bufnr(result.uri))
    if window == -1 then
      vim.cmd.split(vim.fn.fnameescape(result.path))
    else
      vim.api.nvim_set_current_win(window)
    end
    vim.cmd('normal! G')
  end)
end

local function plan(given)
  local action, words = given.words:match('^(%S*)%s*(.*)$')
  action = action == '' and 'open' or action
  if not vim.tbl_contains({ 'open', 'approve', 'reject' }, action) then
    return client.warn(('`:Indwell plan %s` is unknown; there are open, approve and reject.'):format(action))
  end
  client.run('indwell.plan', { action = action, words = action == 'reject' and words ~= '' and words or nil })
end

local function set_mode(mode)
  client.run('indwell.mode', { mode = mode }, function(_, it) require('indwell.status').refresh(it) end)
end

local function mode(given)
  if vim.tbl_contains(MODES, given.words) then return set_mode(given.words) end
  if given.words ~= '' then
    return client.warn(('`:Indwell mode %s` is unknown; there are plan, ask, review and auto.'):format(given.words))
  end
  client.request('indwell/status', vim.empty_dict(), function(now)
    local labels = {
      plan = 'plan: changes nothing',
      ask = 'ask: asks before each edit',
      review = 'review: edits, and you review',
      auto = 'auto: edits without a review',
    }
    vim.ui.select(now.modes, {
      prompt = ('Mode of Indwell (now %s):'):format(now.mode),
      format_item = function(it) return labels[it] or it end,
    }, function(chosen)
      if chosen then set_mode(chosen) end
    end)
  end)
end

local function set_model(name)
  client.request('indwell/setModel', { model = name }, function(result, it)
    client.say(('the next turn uses %s.'):format(result.model))
    require('indwell.status').refresh(it)
  end)
end

local function model(given)
  if given.words ~= '' then return set_model(given.words) end
  client.request('indwell/models', vim.empty_dict(), function(result)
    vim.ui.select(result.models, {
      prompt = 'Model:',
      format_item = function(it)
        local window = type(it.window) == 'number' and (' (%dk tokens)'):format(it.window / 1000) or ''
        return (it.chosen and '* ' or '  ') .. it.name .. window
      end,
    }, function(chosen)
      if chosen then set_model(chosen.name) end
    end)
  end)
end

local function rewind_to(turn) client.run('indwell.rewind', { turn = turn, wait = true }) end

local function rewind(given)
  local turn = tonumber(given.words)
  if turn then return rewind_to(turn) end
  if given.words ~= '' then return client.warn('give the number of a turn; 0 is before the first one.') end
  client.request('indwell/session', vim.empty_dict(), function(result)
    local turns = {}
    for _, one in ipairs(result.turns) do
      if not one.left then table.insert(turns, 1, { turn = one.turn, title = one.events[1].title }) end
    end
    if #turns == 0 then return client.say('this session has no turn yet.') end
    vim.ui.select(vim.list_extend(turns, { { turn = 0 } }), {
      prompt = 'Go back to the end of:',
      format_item = function(it)
        return it.turn == 0 and 'the beginning' or ('turn %d: %s'):format(it.turn, (it.title:gsub('%s+', ' ')))
      end,
    }, function(chosen)
      if chosen then rewind_to(chosen.turn) end
    end)
  end)
end

local function resume(id)
  client.run('indwell.resume', { session = id, wait = true }, function(result)
    if result then client.say('your next prompts go to the chosen session.') end
  end)
end

local ACTS = {
  { 'Continue it', function(id) resume(id) end },
  { 'Open its chat', function(id) open_chat({ session = id }) end },
  { 'Read its transcript', function(id) client.run('indwell.open', { what = 'transcript', session = id }) end },
}

local function sessions(given)
  client.request('indwell/sessions', { limit = 50, query = given.words }, function(result)
    if #result.sessions == 0 then return client.say('there is no session here yet.') end
    local states = require('indwell.status').sessions
    local room = math.max(20, vim.o.columns - 50)
    vim.ui.select(result.sessions, {
      prompt = 'Session:',
      format_item = function(it)
        local title = vim.fn.strcharpart(it.title:gsub('%s+', ' '), 0, room)
        local state = states[it.id] or (it.open and 'current' or '')
        return ('%s %-8s %s (%d %s)'):format(
          it.at:sub(1, 16):gsub('T', ' '),
          state,
          title,
          it.turns,
          it.turns == 1 and 'turn' or 'turns'
        )
      end,
    }, function(chosen)
      if not chosen then return end
      local title = vim.fn.strcharpart(chosen.title:gsub('%s+', ' '), 0, room)
      vim.ui.select(ACTS, { prompt = title .. ':', format_item = function(it) return it[1] end }, function(act)
        if act then act[2](chosen.id) end
      end)
    end)
  end)
end

local function decide(verb)
  return function(given)
    local scope = given.words == '' and 'change' or given.words
    if scope ~= 'change' and not vim.tbl_contains(SCOPES, scope) then
      return client.warn(('`:Indwell %s %s` is unknown; there are file, turn and all.'):format(verb, scope))
    end
    require('indwell.changes').decide(verb, scope)
  end
end

local function change_step(step)
  return function() require('indwell.changes').go(step) end
end

local function run(name, argument)
  return function() client.run(name, argument) end
end

-- Returns the result of a request for a completion; nil if the server does not answer in time.
local function ask_now(method, params)
  local it = client.current()
  if not it or not it.initialized then return nil end
  local answer = it:request_sync(method, params, ANSWER_MS)
  return answer and answer.result
end

local function model_names()
  local found = ask_now('indwell/models', vim.empty_dict())
  return found and vim.tbl_map(function(it) return it.name end, found.models) or {}
end

local function turn_numbers()
  local found = ask_now('indwell/session', vim.empty_dict())
  local numbers = found and vim.tbl_map(function(it) return tostring(it.turn) end, found.turns) or {}
  table.insert(numbers, 1, '0')
  return numbers
end

local function words(list)
  return function() return list end
end

-- Each subcommand: what it does, and what completes its argument.
local SUBCOMMANDS = {
  accept = { decide('accept'), words(SCOPES) },
  answer = {
    function(given)
      local questions = require('indwell.questions')
      if given.words == '' then
        questions.focus()
      else
        questions.answer(given.words)
      end
    end,
    function() return require('indwell.questions').words() end,
  },
  answers = { function() require('indwell.answers').show() end },
  ask = { task('ask', 'Ask') },
  chat = { function(given) open_chat({ new = given.words == 'new' or nil }) end, words({ 'new' }) },
  diff = { run('indwell.open', { what = 'diff' }) },
  document = { task('document') },
  edit = { task('edit', 'Edit') },
  explain = { task('explain') },
  fix = { task('fix') },
  mode = { mode, words(MODES) },
  model = { model, model_names },
  new = { run('indwell.newSession', vim.empty_dict()) },
  next = { change_step(1) },
  plan = { plan, words({ 'open', 'approve', 'reject' }) },
  prev = { change_step(-1) },
  refactor = { task('refactor', 'Refactor') },
  reject = { decide('reject'), words(SCOPES) },
  review = { function() require('indwell.changes').list() end },
  rewind = { rewind, turn_numbers },
  send = { send_chat },
  sessions = { sessions },
  stop = { run('indwell.cancel') },
  test = { task('test') },
  trust = { run('indwell.trust') },
  undo = { run('indwell.undoVerdict') },
}

local function execute(call)
  local name, argument = call.args:match('^(%S*)%s*(.*)$')
  local found = SUBCOMMANDS[name == '' and 'chat' or name]
  if not found then
    return client.warn(('`:Indwell %s` is unknown; <Tab> after `:Indwell ` lists what is there.'):format(name))
  end
  found[1]({ words = vim.trim(argument), range = call.range, line1 = call.line1, line2 = call.line2 })
end

local function complete(_, line, at)
  local before = line:sub(1, at):gsub('^.-Indwell!?%s+', '')
  local name, argument = before:match('^(%S+)%s+(.*)$')
  local found = SUBCOMMANDS[name]
  local list = name and (found and found[2] and found[2]() or {}) or vim.tbl_keys(SUBCOMMANDS)
  local start = name and argument or before
  local fitting = vim.tbl_filter(function(it) return vim.startswith(it, start) end, list)
  if not name then table.sort(fitting) end
  return fitting
end

function command.setup()
  vim.api.nvim_create_user_command('Indwell', client.guarded(execute), {
    nargs = '*',
    range = true,
    desc = 'Indwell, a coding agent',
    complete = function(...) return client.guarded(complete)(...) or {} end,
  })
end

return command
