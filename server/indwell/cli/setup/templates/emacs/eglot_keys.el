(defun indwell-run (command)
  "Run a COMMAND of Indwell, such as indwell.chat."
  (interactive (list (intern (completing-read "Command: " '("indwell.chat" "indwell.cancel" "indwell.newSession")))))
  (jsonrpc-async-request (eglot--current-server-or-lose) :workspace/executeCommand
                         (list :command (symbol-name command) :arguments []) :success-fn #'ignore))
(defvar indwell-map (make-sparse-keymap) "Keys behind C-c i.")
(define-key indwell-map "i" #'eglot-code-actions)    ; all that can be done here: accept, reject, send …
(define-key indwell-map "n" #'flymake-goto-next-error) ; from change to change
(define-key indwell-map "p" #'flymake-goto-prev-error)
(define-key indwell-map "c" (lambda () (interactive) (indwell-run 'indwell.chat)))
(define-key indwell-map "s" (lambda () (interactive) (indwell-run 'indwell.cancel)))
(global-set-key (kbd "C-c i") indwell-map)
