-- nvim -l neovim_memory.lua: the user answers the model's questions and proposals, and edits the page of facts.

local here = vim.fs.dirname(arg[0])
local user = dofile(here .. '/neovim_driver.lua')
local place = vim.json.decode(vim.env.INDWELL_PLACE)

local function written(report)
  local file = assert(io.open(vim.env.INDWELL_REPORT, 'wb'))
  file:write(vim.json.encode(report))
  file:close()
end

local answers = { '2. cents', 'Remember it' }
user.permit = function() return table.remove(answers, 1) or 'No' end
user.typed = 'two digits, é 🙂'

local function prompt(words)
  local answer
  user.client():request('indwell/prompt', { text = words, session = 'new' }, function(err, it) answer = err or it end)
  user.wait('the end of the turn', function() return answer end)
  return answer
end

local function play()
  user.open(place.path)
  local first = prompt('mend the shop')
  user.client():exec_cmd({ title = 'Memory', command = 'indwell.memory' })
  local page
  user.wait('the page', function()
    for _, one in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(one)):match('/memory/.*%.md$') then page = one end
    end
    return page
  end)
  vim.api.nvim_set_current_win(page)
  local shown = user.text(0)
  user.keys('Go- Discounts come before taxes, é 🙂.<Esc>')
  vim.cmd.write()
  return {
    endings = { first.ending, prompt('look at the discounts').ending, prompt('rename it').ending },
    page = shown,
    inputs = user.inputs,
    questions = vim.tbl_map(function(one) return { prompt = one.prompt, titles = one.titles } end, user.questions()),
  }
end

local ok, report = pcall(play)
written(ok and report or { failed = tostring(report) })
vim.cmd('qall!')
