-- nvim 0.11 -l neovim_mcp.lua: a project's MCP server is approved and called, its resource completed in a chat.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)

local function written(report)
  local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
  file:write(vim.json.encode(report))
  file:close()
end

local START = 'Start this server'

user.permit = function()
  return vim.tbl_contains(user.choices[#user.choices].titles, START) and START or 'Once'
end

local function command(name, argument, done)
  user.client():exec_cmd({ title = name, command = name, arguments = { argument } }, {}, function(_, result)
    if done then done(result) end
  end)
end

local function play()
  user.open(place.path)
  local answer
  user.client():request('indwell/prompt', { text = 'add 2 and 3' }, function(err, it) answer = err or it end)
  user.wait('the end of the turn', function() return answer end)
  local listed
  command('indwell.mcp', { action = 'approve', name = 'nobody', wait = true }, function(it) listed = it or true end)
  user.wait_for_message("there is no MCP server 'nobody' here")
  local made
  command('indwell.chat', { wait = true }, function(result) made = result end)
  user.wait('the chat', function() return made and made.path end)
  local buffer = user.open(made.path)
  vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { 'see @paper:' })
  local last = vim.api.nvim_buf_line_count(buffer)
  vim.api.nvim_win_set_cursor(0, { last, 11 })
  local params = vim.lsp.util.make_position_params(0, user.client().offset_encoding)
  params.position.character = 11
  local offered = user.client():request_sync('textDocument/completion', params, 10000, buffer)
  return {
    ending = answer.ending,
    questions = vim.tbl_map(function(one) return one.prompt end, user.questions()),
    items = vim.tbl_map(function(one) return one.label end, offered.result.items),
  }
end

local ok, report = pcall(play)
written(ok and report or { failed = tostring(report) })
vim.cmd('qall!')
