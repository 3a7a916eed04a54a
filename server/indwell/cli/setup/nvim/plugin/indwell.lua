-- Sets Indwell up for a plugin manager; `vim.g.indwell` has the options, and `false` leaves the set-up to you.
if vim.g.loaded_indwell or vim.g.indwell == false then return end
vim.g.loaded_indwell = true
if vim.fn.has('nvim-0.11') == 0 then
  local words = 'Indwell: the plugin is for Neovim 0.11 or later; for yours: indwell setup nvim-older --write'
  vim.notify(words, vim.log.levels.WARN)
else
  vim.schedule(function() require('indwell').setup() end) -- a plugin manager may call setup with options first
end
