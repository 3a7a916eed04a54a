-- The report of `:checkhealth indwell`.
local health = {}
local ANSWER_MS = 3000 -- the longest time to wait for the program or the server

local function check_program(cmd)
  if vim.fn.executable(cmd[1]) == 0 then
    return vim.health.error(
      ('The program %s is not found.'):format(cmd[1]),
      { 'Install Indwell, then write the configuration again: `indwell setup nvim --write`' }
    )
  end
  local version = {}
  for _, word in ipairs(cmd) do
    if word == 'serve' then break end
    table.insert(version, word)
  end
  table.insert(version, '--version')
  local ok, done = pcall(function() return vim.system(version, { text = true }):wait(ANSWER_MS) end)
  if ok and done.code == 0 then return vim.health.ok(('The program answers: %s'):format(vim.trim(done.stdout))) end
  vim.health.warn(
    ('`%s` does not answer within %d seconds.'):format(table.concat(version, ' '), ANSWER_MS / 1000),
    { 'Run it in a terminal and see what it says.' }
  )
end

local function check_server(it)
  vim.health.info(('A server runs for %s.'):format(it.root_dir or 'no folder'))
  local answer = it:request_sync('indwell/status', vim.empty_dict(), ANSWER_MS)
  local now = answer and answer.result
  if not now then
    return vim.health.error(
      'The server does not answer.',
      { "See Neovim's log: `:lua vim.cmd.edit(vim.lsp.log.get_filename())`" }
    )
  end
  vim.health.ok(('Version %s, mode %s.'):format(now.version, now.mode))
  if now.lacking == '' then
    vim.health.ok(('The model is %s.'):format(now.model))
  else
    vim.health.warn(now.lacking, { 'Run `indwell login` in a terminal, or see docs/settings.md.' })
  end
  if now.trusted then return vim.health.ok('The folder is trusted.') end
  vim.health.warn(
    'The folder is not trusted: Indwell reads and answers, and runs no command there.',
    { 'Run `:Indwell trust`.' }
  )
end

local function check_plain_configuration()
  for _, path in ipairs(vim.api.nvim_get_runtime_file('plugin/indwell.lua', true)) do
    local text = table.concat(vim.fn.readfile(path), '\n')
    if text:find("vim.lsp.config('indwell'", 1, true) then
      vim.health.warn(
        ('%s sets Indwell up without the plugin too.'):format(path),
        { 'Keep one of the two: `indwell setup nvim --write` replaces what setup wrote.' }
      )
    end
  end
end

function health.check()
  vim.health.start('Indwell')
  if vim.fn.has('nvim-0.11') == 0 then
    return vim.health.error(
      'The plugin needs Neovim 0.11 or later.',
      { 'For yours: `indwell setup nvim-older --write`' }
    )
  end
  vim.health.ok(('Neovim %s.'):format(tostring(vim.version())))
  local client = require('indwell.client')
  if not require('indwell').is_set_up then
    return vim.health.error(
      'The plugin is not set up.',
      { "Put `require('indwell').setup()` into your configuration." }
    )
  end
  check_program(client.options.cmd)
  check_plain_configuration()
  local running = vim.lsp.get_clients({ name = 'indwell' })
  for _, it in ipairs(running) do
    check_server(it)
  end
  if #running == 0 then
    vim.health.info(
      'No server runs: it starts with the first file of a folder that has .git or .indwell, or with `:Indwell chat`.'
    )
  end
end

return health
