(require 'eglot)
(add-to-list 'eglot-server-programs '((python-mode markdown-mode gfm-mode) . @COMMAND@))
(dolist (hook '(python-mode-hook markdown-mode-hook)) (add-hook hook #'eglot-ensure))
(setq eglot-confirm-server-initiated-edits nil) ; edits are versioned, shown, and undone with one C-/
;; Saves the changed files before a command runs, so that it sees what you see.
(cl-defmethod eglot-client-capabilities :around ((_server eglot-lsp-server))
  (plist-put (cl-call-next-method) :experimental '(:indwell (:save t :navigate t))))
(cl-defmethod eglot-handle-request (_server (_method (eql indwell/save)) &key uris)
  (list :saved (vconcat (seq-filter (lambda (uri)
    (let ((buffer (find-buffer-visiting (eglot--uri-to-path uri))))
      (and buffer (with-current-buffer buffer (basic-save-buffer) (not (buffer-modified-p)))))) uris))))
