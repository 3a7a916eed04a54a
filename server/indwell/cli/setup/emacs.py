"""The configuration of Emacs: eglot, and lsp-mode."""

from __future__ import annotations

from indwell.cli.setup.configuration import Configuration
from indwell.cli.setup.quoting import elisp_list, quoted

_EGLOT = r"""(require 'eglot)
(add-to-list 'eglot-server-programs '((python-mode markdown-mode gfm-mode) . @COMMAND@))
(dolist (hook '(python-mode-hook markdown-mode-hook)) (add-hook hook #'eglot-ensure))
(setq eglot-confirm-server-initiated-edits nil) ; edits are versioned, shown, and undone with one C-/
;; Saves the changed files before a command runs, so that it sees what you see.
(cl-defmethod eglot-client-capabilities :around ((_server eglot-lsp-server))
  (plist-put (cl-call-next-method) :experimental '(:indwell (:save t))))
(cl-defmethod eglot-handle-request (_server (_method (eql indwell/save)) &key uris)
  (list :saved (vconcat (seq-filter (lambda (uri)
    (let ((buffer (find-buffer-visiting (eglot--uri-to-path uri))))
      (and buffer (with-current-buffer buffer (basic-save-buffer) (not (buffer-modified-p)))))) uris))))
"""

_EGLOT_KEYS = r"""(defun indwell-run (command)
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
"""

_LSP_MODE = r"""(require 'lsp-mode)
(defun indwell-save (_workspace params)
  "Save the changed files before a command runs, so that it sees what you see."
  (list :saved (vconcat (seq-filter (lambda (uri)
    (let ((buffer (find-buffer-visiting (lsp--uri-to-path uri))))
      (and buffer (with-current-buffer buffer (basic-save-buffer) (not (buffer-modified-p))))))
    (lsp-get params :uris)))))
(lsp-register-client (make-lsp-client
  :new-connection (lsp-stdio-connection '@COMMAND@)
  :activation-fn (lambda (_file mode) (provided-mode-derived-p mode 'prog-mode 'markdown-mode))
  :server-id 'indwell :add-on? t                ; beside the server of the language
  :custom-capabilities '((experimental . ((indwell . ((save . t))))))
  :request-handlers (lsp-ht ("indwell/save" #'indwell-save))))
(setq lsp-auto-guess-root t lsp-lens-enable t lsp-signature-auto-activate nil)
(dolist (hook '(prog-mode-hook markdown-mode-hook)) (add-hook hook #'lsp-deferred))
"""

_LSP_MODE_KEYS = r"""(defvar indwell-map (make-sparse-keymap) "Keys behind C-c i.")
(define-key indwell-map "i" #'lsp-execute-code-action) ; all that can be done here: accept, reject, send …
(define-key indwell-map "n" #'flymake-goto-next-error)   ; from change to change; flycheck: flycheck-next-error
(define-key indwell-map "p" #'flymake-goto-prev-error)
(define-key indwell-map "c" (lambda () (interactive) (lsp-workspace-command-execute "indwell.chat")))
(define-key indwell-map "s" (lambda () (interactive) (lsp-workspace-command-execute "indwell.cancel")))
(global-set-key (kbd "C-c i") indwell-map)
"""

_NEXT = ("Start Emacs anew and open a file of a project.",)

EGLOT = Configuration(
    editor="Emacs with eglot",
    page="emacs.md",
    language="elisp",
    blocks=(_EGLOT, _EGLOT_KEYS),
    words=elisp_list,
    word=quoted,
    comment=";;",
    next_steps=(*_NEXT, "`M-x eglot-code-actions` shows what Indwell offers."),
)

LSP_MODE = Configuration(
    editor="Emacs with lsp-mode",
    page="emacs-lsp-mode.md",
    language="elisp",
    blocks=(_LSP_MODE, _LSP_MODE_KEYS),
    words=elisp_list,
    word=quoted,
    comment=";;",
    next_steps=(*_NEXT, "`M-x lsp-execute-code-action` shows what Indwell offers."),
)
