-- nvim -l neovim_navigate.lua: the model asks about code, and another language server answers.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)

local function written(report)
  local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
  file:write(vim.json.encode(report))
  file:close()
end

vim.lsp.config('pyright', { cmd = place.pyright, filetypes = { 'python' }, root_markers = { '.git', '.indwell' } })
vim.lsp.enable('pyright')

local function play()
  user.open(place.path)
  user.wait('pyright', function()
    local one = vim.lsp.get_clients({ name = 'pyright' })[1]
    return one and one.initialized
  end)
  local answer
  user.client():request('indwell/prompt', { text = 'look', session = 'new' }, function(err, it) answer = err or it end)
  user.wait('the end of the turn', function() return answer end)
  return { ending = answer.ending, text = user.text(vim.fn.bufnr(place.path)), other = user.text(vim.fn.bufnr(place.other)) }
end

local ok, report = pcall(play)
written(ok and report or { failed = tostring(report) })
vim.cmd('qall!')
