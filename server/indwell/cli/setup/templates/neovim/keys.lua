-- Keys. ]d and [d go from change to change.
local function run(command, arguments)
  return function()
    for _, it in ipairs(vim.lsp.get_clients({ name = 'indwell' })) do
      it:exec_cmd({ title = command, command = command, arguments = arguments })
    end
  end
end
local function choose(title)
  return function()
    vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.title:find(title, 1, true) == 1 end })
  end
end
vim.keymap.set('n', '<leader>ia', choose('Accept this change'), { desc = 'Indwell: accept this change' })
vim.keymap.set('n', '<leader>ir', choose('Reject this change'), { desc = 'Indwell: reject this change' })
vim.keymap.set('n', '<leader>ic', run('indwell.chat'), { desc = 'Indwell: chat' })
vim.keymap.set('n', '<leader>ig', choose('Send'), { desc = 'Indwell: send the chat (go)' })
vim.keymap.set('n', '<leader>is', run('indwell.cancel'), { desc = 'Indwell: stop' })
