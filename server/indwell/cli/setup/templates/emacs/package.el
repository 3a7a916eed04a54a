;; The package comes with the server, so both always have one version.
(add-to-list 'load-path @PACKAGE@)
(dolist (command '(indwell-menu indwell-chat indwell-prompt indwell-sessions indwell-next-change))
  (autoload command "indwell" "An action of Indwell; see C-c i." t))
(setq indwell-command '@COMMAND@)
(global-set-key (kbd "C-c i") #'indwell-menu)
