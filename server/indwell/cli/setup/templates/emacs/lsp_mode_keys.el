(defvar indwell-map (make-sparse-keymap) "Keys behind C-c i.")
(define-key indwell-map "i" #'lsp-execute-code-action) ; all that can be done here: accept, reject, send …
(define-key indwell-map "n" #'flymake-goto-next-error)   ; from change to change; flycheck: flycheck-next-error
(define-key indwell-map "p" #'flymake-goto-prev-error)
(define-key indwell-map "c" (lambda () (interactive) (lsp-workspace-command-execute "indwell.chat")))
(define-key indwell-map "s" (lambda () (interactive) (lsp-workspace-command-execute "indwell.cancel")))
(global-set-key (kbd "C-c i") indwell-map)
