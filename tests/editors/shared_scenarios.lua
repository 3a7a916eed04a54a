-- The scenarios that every editor plays, for both versions of Neovim. `user` has the actions of a user
-- in one version: open, choose, titles, turn, run, text, wait, questions; `user.permit` answers questions.

return function(user, place)
  local scenarios = {}

  local function disk()
    local file = assert(io.open(place.path, 'rb'))
    local text = file:read('*a')
    file:close()
    return text
  end

  local function fix() user.turn(place.first, place.last, 'Fix this') end

  local function undo() vim.cmd('silent undo') end

  local function wait_for_text(buffer, condition, what)
    user.wait(what, function() return condition(user.text(buffer)) end)
  end

  function scenarios.fix()
    local buffer = user.open(place.path)
    vim.api.nvim_create_autocmd('BufWritePre', { callback = function()
      vim.cmd([[silent! %s/  #/ #/]])
      vim.cmd([[silent! 1s/é 🙂\./É 🙂./]])
    end })
    local report = { titles = user.titles(place.first, place.last) }
    local steps = vim.fn.undotree().seq_last
    fix()
    report.steps = vim.fn.undotree().seq_last - steps
    report.buffer = user.text(buffer)
    undo()
    report.undone = user.text(buffer)
    vim.cmd('silent redo')
    report.redone = user.text(buffer)
    vim.cmd('silent write')
    report.saved, report.disk = user.text(buffer), disk()
    fix()
    report.again = user.text(buffer)
    return report
  end

  function scenarios.ask()
    local buffer = user.open(place.path)
    user.permit = function() return 'No' end
    fix()
    local refused = { buffer = user.text(buffer), disk = disk() }
    user.permit = function() return 'Once' end
    fix()
    local line = vim.api.nvim_buf_get_lines(buffer, place.last - 1, place.last, false)[1]
    vim.api.nvim_buf_set_lines(buffer, place.last - 1, place.last, false, { line .. '  # mine' })
    fix()
    return { refused = refused, questions = user.questions(), buffer = user.text(buffer), disk = disk() }
  end

  function scenarios.cancel()
    local buffer = user.open(place.path)
    local took
    user.turn(place.first, place.last, 'Fix this', function()
      took = user.ms()
      user.run('indwell.cancel', {})
    end)
    return { took = user.ms() - took, buffer = user.text(buffer), disk = disk() }
  end

  local function offered(line) return user.titles(line, line) end

  function scenarios.review()
    local buffer = user.open(place.path)
    fix()
    local report = {}
    local function step(name, action)
      local ok, problem = pcall(action)
      if not ok then report[name .. '_failed'] = tostring(problem) end
    end
    step('accept', function()
      report.offered = offered(place.lines[1])
      user.choose(place.lines[1], place.lines[1], 'Accept this change')
      user.wait('the verdict', function()
        return not vim.tbl_contains(offered(place.lines[1]), 'Accept this change')
      end)
      report.buffer_accepted = user.text(buffer)
      report.offered_accepted = offered(place.lines[1])
      report.offered_other = offered(place.lines[2])
    end)
    step('reject', function()
      local before = user.text(buffer)
      user.choose(place.lines[2], place.lines[2], 'Reject this change')
      wait_for_text(buffer, function(now) return now ~= before end, 'the rejection')
      report.buffer_rejected = user.text(buffer)
      report.offered_last = offered(place.lines[3])
    end)
    step('rewind', function()
      local before = user.text(buffer)
      user.run('indwell.rewind', { { turn = 0, files = true } })
      wait_for_text(buffer, function(now) return now ~= before end, 'the rewind')
      report.buffer_rewound = user.text(buffer)
    end)
    return report
  end

  function scenarios.chat()
    user.open(place.path)
    local made
    user.run('indwell.chat', { { wait = true } }, function(result) made = result end)
    user.wait('the chat', function() return made and made.path end)
    local buffer = user.open(made.path)
    vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { place.question })
    user.run('indwell.send', { { uri = made.uri } })
    wait_for_text(buffer, function(now) return now:find('Nothing else.*## You') end, 'the answer')
    return { chat_path = made.path, chat = user.text(buffer) }
  end

  -- Returns the lines above which Neovim shows lenses with such a title; Neovim 0.11 needs no entered buffer.
  local function above(buffer, title)
    local lines = {}
    for _, space in pairs(vim.lsp.codelens.__namespaces) do
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
        for _, chunk in ipairs(mark[4].virt_text or {}) do
          if chunk[1]:find(title, 1, true) == 1 then table.insert(lines, mark[2] + 1) end
        end
      end
    end
    return lines
  end

  local function wait_for_lenses(buffer, title, lines)
    user.wait(title .. ' above ' .. vim.inspect(lines), function()
      if user.look then user.look() end
      return vim.deep_equal(above(buffer, title), lines)
    end)
  end

  function scenarios.lenses()
    local buffer = user.open(place.path)
    fix()
    wait_for_lenses(buffer, 'Accept', { 1, unpack(place.lines) })
    user.choose(place.lines[1], place.lines[1], 'Accept this change')
    wait_for_lenses(buffer, 'Accept', { 1, place.lines[2], place.lines[3] })
    vim.api.nvim_win_set_cursor(0, { place.lines[2], 0 })
    local report = { before = user.text(buffer) }
    user.wanted, user.permit = 'Reject', function() return 'Reject' end
    vim.lsp.codelens.run()
    wait_for_text(buffer, function(now) return now ~= report.before end, 'the rejection')
    wait_for_lenses(buffer, 'Accept', { 1, place.lines[3] })
    report.after = user.text(buffer)
    return report
  end

  function scenarios.chat_lenses()
    user.open(place.path)
    local made
    user.run('indwell.chat', { { wait = true } }, function(result) made = result end)
    user.wait('the chat', function() return made and made.path end)
    local buffer = user.open(made.path)
    vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { place.question })
    user.wait('Send', function() return #above(buffer, 'Send') == 1 end)
    local before = above(buffer, 'Send')
    user.run('indwell.send', { { uri = made.uri } })
    wait_for_text(buffer, function(now) return now:find('Nothing else.*## You') end, 'the answer')
    local last
    for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
      if line:find('## You', 1, true) == 1 then last = number end
    end
    vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { place.question })
    wait_for_lenses(buffer, 'Send', { last })
    return { before = before[1], after = last }
  end

  local ok, report = pcall(scenarios[vim.env.INDWELL_SCENARIO])
  report = ok and report or { failed = tostring(report) }
  report.messages = vim.fn.execute('messages')
  local file = assert(io.open(vim.env.INDWELL_REPORT, 'w'))
  file:write(vim.json.encode(report))
  file:close()
  vim.cmd('qall!')
end
