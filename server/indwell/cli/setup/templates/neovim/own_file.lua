if vim.fn.has('nvim-0.11') == 0 then
  vim.notify('Indwell: this file is for Neovim 0.11 or later; for yours: indwell setup nvim-older --write', vim.log.levels.WARN)
  return
end
