-- Indwell for Neovim 0.11 and later: `require('indwell').setup()` starts all of it; `:help indwell` describes it.
local indwell = {}

local KEYS = {
  { 'n', 'a', 'accept', 'accept this change' },
  { 'n', 'r', 'reject', 'reject this change' },
  { 'n', 'n', 'next', 'go to the next change' },
  { 'n', 'p', 'prev', 'go to the previous change' },
  { 'n', 'v', 'review', 'list all changes' },
  { 'n', 'c', 'chat', 'chat' },
  { 'n', 'g', 'send', 'send the chat (go)' },
  { 'n', 's', 'stop', 'stop' },
  { 'n', 'm', 'mode', 'choose the mode' },
  { 'n', 'M', 'model', 'choose the model' },
  { 'n', 'l', 'sessions', 'list the sessions' },
  { 'n', 'w', 'answers', 'show the window of answers' },
  { { 'n', 'x' }, 'i', 'ask', 'ask about this' },
  { { 'n', 'x' }, 'd', 'edit', 'edit this as you say (do)' },
  { { 'n', 'x' }, 'f', 'fix', 'fix this' },
  { { 'n', 'x' }, 'e', 'explain', 'explain this' },
}

local function set_keys()
  for _, key in ipairs(KEYS) do
    local modes, letter, command, words = unpack(key)
    for _, mode in ipairs(type(modes) == 'table' and modes or { modes }) do
      local keys = '<leader>i' .. letter
      if vim.fn.maparg(keys, mode) == '' then
        local right = mode == 'x' and (':Indwell %s<CR>'):format(command) or ('<Cmd>Indwell %s<CR>'):format(command)
        vim.keymap.set(mode, keys, right, { desc = 'Indwell: ' .. words, silent = true })
      end
    end
  end
  vim.api.nvim_create_autocmd('BufWinEnter', {
    pattern = '*.chat.md',
    callback = function(event)
      vim.keymap.set(
        { 'n', 'i' },
        '<C-s>',
        '<Cmd>Indwell send<CR>',
        { buffer = event.buf, desc = 'Indwell: send the chat' }
      )
    end,
  })
end

-- Starts Indwell. Options: cmd (how the server starts), keys (false: no keys), answers ('split' or 'float').
function indwell.setup(options)
  if indwell.is_set_up then return end
  indwell.is_set_up = true
  local client = require('indwell.client')
  client.options = vim.tbl_extend('force', client.options, vim.g.indwell or {}, options or {})
  require('indwell.checks')
  require('indwell.display')
  require('indwell.navigate')
  require('indwell.lenses')
  for _, name in ipairs({ 'questions', 'prompt', 'changes', 'answers', 'status' }) do
    require('indwell.' .. name).setup()
  end
  require('indwell.command').setup()
  if client.options.keys then set_keys() end
  client.start()
end

-- Returns the component of a statusline: the mode, what runs, the changes to review, the context.
function indwell.status()
  local ok, status = pcall(require, 'indwell.status')
  return ok and status.line() or ''
end

return indwell
