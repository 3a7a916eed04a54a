if vim.fn.has('nvim-0.11') == 0 then
  vim.notify('Indwell: this file is for Neovim 0.11 or later; for yours: indwell setup nvim-older --write', vim.log.levels.WARN)
  return
end
vim.opt.runtimepath:append(@PLUGIN@)
local found, indwell = pcall(require, 'indwell')
if found then
  indwell.setup({ cmd = @COMMAND@ })
else
  vim.notify('Indwell: its Neovim plugin was moved; write this file again: indwell setup nvim --write', vim.log.levels.WARN)
end
