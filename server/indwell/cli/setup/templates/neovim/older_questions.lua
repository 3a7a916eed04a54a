-- Words such as allow-once answer a question of Indwell; keys that were typed before it are dropped.
@WORDS@
ask = function(_, it)
  local words, note, quits = words_of(it.actions), '', 0
  local lines = { it.message, '' }
  for at, action in ipairs(it.actions) do table.insert(lines, ('  %s: %s'):format(words[at], (action.title:gsub('%c', ' ')))) end
  while true do
    local is_quiet
    repeat
      vim.wait(300)
      is_quiet = true
      while vim.fn.getchar(0) ~= 0 do is_quiet = false end
    until is_quiet
    local prompt = ('\n%s\n%sType a word (%s) and <Enter>: '):format(table.concat(lines, '\n'), note, table.concat(words, ', '))
    local text = vim.fn.input({ prompt = prompt, cancelreturn = '<Esc>' })
    local at = chosen(words, text)
    if at then return it.actions[at] end
    quits = text == '<Esc>' and quits + 1 or 0
    if quits == 2 then return vim.NIL end
    note = quits == 1 and 'Press <Esc> again to give no answer.\n' or ('"%s" is not one of the words.\n'):format(text)
  end
end
