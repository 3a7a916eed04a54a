-- nvim 0.11 -l neovim_skills.lua: a skill is completed and called in a chat, and the model loads another.

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

vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { '/ti' })
local last = vim.api.nvim_buf_line_count(buffer)
vim.api.nvim_win_set_cursor(0, { last, 3 })
local params = vim.lsp.util.make_position_params(0, user.client().offset_encoding)
params.position.character = 3
local answer = user.client():request_sync('textDocument/completion', params, 10000, buffer)
local items = answer.result.items
vim.lsp.util.apply_text_edits({ items[1].textEdit }, buffer, user.client().offset_encoding)
local line = vim.api.nvim_buf_get_lines(buffer, last - 1, last, false)[1]
vim.api.nvim_buf_set_lines(buffer, last - 1, last, false, { line .. ' the shop' })
command('indwell.send', { uri = made.uri })
user.wait('the answer', function() return user.text(buffer):find('Tidied%..*## You') end)
local tool = vim.fn.search('^<details><summary>Run', 'nw')
user.wait('the fold', function() return vim.fn.foldclosed(tool) == tool end)
local folded = {
  vim.fn.foldtextresult(tool),
  vim.fn.foldclosed(vim.fn.search('^Tidied', 'nw')),
  vim.fn.foldclosed(vim.fn.search('^/tidy', 'nw')),
}

local report = {
  items = vim.tbl_map(function(one) return { one.label, one.detail } end, items),
  chat = user.text(buffer),
  folded = folded,
  messages = user.messages(),
}
local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
file:write(vim.json.encode(report))
file:close()
vim.cmd('qall!')
