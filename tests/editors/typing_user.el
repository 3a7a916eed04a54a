;;; typing_user.el --- begins the turn "Fix this" once the server is there  -*- lexical-binding: t; -*-
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil)
(defun typing-arguments ()
  (vector (list :uri (concat "file://" (url-encode-url (getenv "INDWELL_PATH")))
                :range '(:start (:line 3 :character 0) :end (:line 6 :character 0)))))
(defun typing-begin ()
  (cond ((and (fboundp 'eglot-current-server) (eglot-current-server))
         (jsonrpc-async-request (eglot-current-server) :workspace/executeCommand
                                (list :command "indwell.fix" :arguments (typing-arguments)) :success-fn #'ignore))
        ((and (fboundp 'lsp-workspaces) (lsp-workspaces) (eq 'initialized (lsp--workspace-status (car (lsp-workspaces)))))
         (lsp-request-async "workspace/executeCommand" (list :command "indwell.fix" :arguments (typing-arguments)) #'ignore :mode 'detached))
        (t (run-at-time 0.1 nil #'typing-begin))))
(find-file (getenv "INDWELL_PATH"))
(goto-char (point-max))
(run-at-time 0.5 nil #'typing-begin)
;;; typing_user.el ends here
