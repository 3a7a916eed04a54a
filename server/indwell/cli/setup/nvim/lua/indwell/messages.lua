-- Messages that never wait for <Enter>: a long one also appears in a corner of the screen, and takes no key.
local messages = {}
local SECONDS, SECONDS_EACH = 4, 0.03 -- how long a message stays, and how much longer for each character
local WIDTH, MOST_LINES = 60, 12

local corner -- the window: lines, buffer, window, timer

local function wrapped(message, width)
  local lines = {}
  for _, part in ipairs(vim.split(message, '\n')) do
    local line = ''
    for word in part:gmatch('%S+') do
      local longer = line == '' and word or line .. ' ' .. word
      if line ~= '' and vim.fn.strdisplaywidth(longer) > width then
        table.insert(lines, line)
        longer = word
      end
      line = longer
    end
    table.insert(lines, line)
  end
  return lines
end

local function close()
  local it = corner
  corner = nil
  if not it.timer:is_closing() then
    it.timer:stop()
    it.timer:close()
  end
  pcall(vim.api.nvim_buf_delete, it.buffer, { force = true })
end

local function show_in_corner(message, group)
  local width = math.max(10, math.min(WIDTH, vim.o.columns - 6))
  local lines = wrapped(message, width)
  if corner then
    lines = vim.list_extend(vim.list_extend({}, corner.lines), lines)
    close()
  end
  while #lines > MOST_LINES do
    table.remove(lines, 1)
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  local window = vim.api.nvim_open_win(buffer, false, {
    relative = 'editor',
    anchor = 'SE',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = vim.o.columns,
    width = width,
    height = math.max(1, math.min(#lines, vim.o.lines - vim.o.cmdheight - 4)),
    style = 'minimal',
    border = 'rounded',
    focusable = false,
    zindex = 150,
  })
  vim.wo[window].wrap = true
  vim.wo[window].winhighlight = 'NormalFloat:Normal,FloatBorder:' .. group
  local stays = (SECONDS + SECONDS_EACH * #message) * 1000
  corner = { lines = lines, buffer = buffer, timer = vim.defer_fn(close, stays) }
end

local function first_line(message)
  local line = message:gsub('%s+', ' ')
  while line ~= '' and vim.fn.strdisplaywidth(line) >= vim.v.echospace do
    line = vim.fn.strcharpart(line, 0, vim.fn.strchars(line) - 1)
  end
  return line .. '…'
end

-- Shows a message; `:messages` has all of them.
function messages.show(message, level)
  local is_short = vim.fn.strdisplaywidth(message) <= vim.v.echospace and not message:find('\n', 1, true)
  local is_own = not debug.getinfo(vim.notify, 'S').short_src:find('vim/_editor', 1, true) -- a plugin shows messages
  if is_short or is_own or #vim.api.nvim_list_uis() == 0 then return vim.notify(message, level) end
  local option = vim.o.messagesopt
  vim.o.messagesopt = option:gsub('hit%-enter', 'wait:0')
  vim.notify(message, level)
  vim.o.messagesopt = option
  vim.cmd.redraw()
  local group = level >= vim.log.levels.WARN and 'WarningMsg' or 'MoreMsg'
  vim.api.nvim_echo({ { first_line(message), level >= vim.log.levels.WARN and group or nil } }, false, {})
  show_in_corner(message, group)
end

return messages
