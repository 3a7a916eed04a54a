-- nvim 0.11 -l neovim_changes.lua: @changes is completed and sent in a chat, and a commit message is shown.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)

local function command(name, argument, done)
  user.client():exec_cmd({ title = name, command = name, arguments = { argument } }, {}, function(_, result)
    if done then done(result) end
  end)
end

user.open(place.path)
local made
command('indwell.chat', { wait = true }, function(result) made = result end)
user.wait('the chat', function() return made and made.path end)
local buffer = user.open(made.path)

vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { 'Review @cha' })
local last = vim.api.nvim_buf_line_count(buffer)
vim.api.nvim_win_set_cursor(0, { last, 11 })
local params = vim.lsp.util.make_position_params(0, user.client().offset_encoding)
params.position.character = 11
local answer = user.client():request_sync('textDocument/completion', params, 10000, buffer)
local items = answer.result.items
vim.lsp.util.apply_text_edits({ items[1].textEdit }, buffer, user.client().offset_encoding)
command('indwell.send', { uri = made.uri })
user.wait('the answer', function() return user.text(buffer):find('Looks good%..*## You') end)

local message
command('indwell.commitMessage', { wait = true }, function(result) message = result end)
user.wait('the message', function() return message and message.message end)
user.wait_for_message('Say more of the shop')

local report = {
  items = vim.tbl_map(function(one) return { one.label, one.detail } end, items),
  chat = user.text(buffer),
  message = message,
  messages = user.messages(),
}
local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
file:write(vim.json.encode(report))
file:close()
vim.cmd('qall!')
