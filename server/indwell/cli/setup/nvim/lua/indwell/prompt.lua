-- A window in which the user writes words of several lines; `:w` or <C-s> sends the words.
local client = require('indwell.client')

local prompt = {}
local number = 0

-- Shows a question that the title has no room for, above the user's words.
local function show_above(buffer, question, width)
  local lines = {}
  for _, part in ipairs(vim.split(question, '\n')) do
    repeat
      local text = vim.fn.strcharpart(part, 0, width)
      while vim.fn.strdisplaywidth(text) > width do
        text = vim.fn.strcharpart(text, 0, vim.fn.strchars(text) - 1)
      end
      table.insert(lines, { { text, 'Comment' } })
      part = part:sub(#text + 1)
    until part == ''
  end
  vim.api.nvim_buf_set_extmark(buffer, vim.api.nvim_create_namespace('indwell.prompt'), 0, 0, {
    virt_lines = lines,
    virt_lines_above = true,
  })
  vim.fn.winrestview({ topfill = #lines })
end

-- Opens the window; `on_words` gets the text, and `on_closed` is called if the user closes the window without it.
function prompt.open(title, on_words, on_closed)
  number = number + 1
  local buffer, from = vim.api.nvim_create_buf(false, false), vim.api.nvim_get_current_win()
  local is_sent = false
  vim.api.nvim_buf_set_name(buffer, 'indwell://prompt/' .. number)
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'acwrite', 'wipe', false
  vim.bo[buffer].filetype = 'markdown'
  local width, height = math.max(20, math.min(100, vim.o.columns - 4)), math.max(3, math.floor(vim.o.lines / 4))
  local room = math.max(5, width - 4)
  local line = title:gsub('%s+', ' ')
  local is_cut = vim.fn.strdisplaywidth(line) > room
  local short = is_cut and vim.fn.strcharpart(line, 0, room - 1) .. '…' or line
  local window = vim.api.nvim_open_win(buffer, true, {
    relative = 'editor',
    width = width,
    height = height,
    row = math.max(0, vim.o.lines - vim.o.cmdheight - height - 3),
    col = 1,
    style = 'minimal',
    border = 'rounded',
    title = (' %s '):format(short),
    footer = ' :w or <C-s> sends · :q! drops ',
  })
  vim.wo[window].wrap, vim.wo[window].linebreak = true, true
  if is_cut or line ~= title then show_above(buffer, title, width) end
  local function send()
    local words = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n'))
    if words == '' then return client.warn('write some words first; `:q` closes the window.') end
    is_sent = true
    vim.bo[buffer].modified = false
    vim.schedule(client.guarded(function()
      vim.cmd.stopinsert()
      pcall(vim.api.nvim_buf_delete, buffer, { force = true })
      if vim.api.nvim_win_is_valid(from) then vim.api.nvim_set_current_win(from) end
      on_words(words)
    end))
  end
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = buffer, callback = client.guarded(send) })
  vim.keymap.set({ 'n', 'i' }, '<C-s>', client.guarded(send), { buffer = buffer, desc = 'Indwell: send' })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buffer,
    callback = function()
      if not is_sent and on_closed then vim.schedule(on_closed) end
    end,
  })
  vim.cmd.startinsert()
  vim.api.nvim_exec_autocmds('User', { pattern = 'IndwellPrompt', data = { buf = buffer, title = title } })
end

-- Answers the server's requests for the user's words.
function prompt.setup()
  local questions = require('indwell.questions')
  vim.lsp.config('indwell', {
    handlers = {
      ['indwell/ask'] = function(_, item)
        return client.awaited(function(on_answer)
          local function open()
            prompt.open(
              item.prompt,
              function(words) on_answer({ text = words }) end,
              function() on_answer({ text = vim.NIL }) end
            )
          end
          if item.by == 'model' then return questions.when_quiet(open) end
          open()
        end)
      end,
    },
  })
end

return prompt
