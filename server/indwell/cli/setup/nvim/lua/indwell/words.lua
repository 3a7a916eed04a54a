local function words_of(actions) -- no for "No"; else what nobody types into a file, such as allow-once or choose-not-now
  local words, times = {}, {}
  for _, it in ipairs(actions) do
    local parts = {}
    for part in it.title:gsub(':.*', ''):lower():gmatch('%a+') do table.insert(parts, #parts < 3 and part or nil) end
    local start = actions[1].title == 'No' and 'allow-' or 'choose-'
    local word = it.title == 'No' and 'no' or start .. (parts[1] and table.concat(parts, '-') or 'answer')
    table.insert(words, word)
    times[word] = (times[word] or 0) + 1
  end
  for at, word in ipairs(words) do
    if times[word] > 1 then words[at] = word .. '-' .. string.char(96 + math.min(at, 26)) end
  end
  return words
end
local function chosen(words, text) -- the place of a word; a letter or more behind the first hyphen is enough where one word begins so
  local typed, found = vim.trim(text):lower(), {}
  for at, word in ipairs(words) do
    if word == typed then return at end
    if typed:find('%-.') and vim.startswith(word, typed) then table.insert(found, at) end
  end
  return #found == 1 and found[1] or nil
end
return { words_of = words_of, chosen = chosen }
