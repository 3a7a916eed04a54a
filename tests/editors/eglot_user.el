;;; eglot_user.el --- what a user does in Emacs with eglot  -*- lexical-binding: t; -*-

(defun user-open (path)
  (find-file path)
  (run-hooks 'post-command-hook)         ; eglot-ensure waits for the user's first key
  (wait-for "the server" (lambda () (and (eglot-current-server) eglot--managed-mode))))

(defun user-idle ()
  ;; eglot sends changes when the user is idle; a batch is never idle, so this code sends them.
  (when (and (bound-and-true-p eglot--managed-mode) (eglot-current-server))
    (eglot--signal-textDocument/didChange)))

(defun user-choose (first last)
  (user-idle)
  (let ((last-nonmenu-event ?a))         ; the user presses a key, not the mouse
    (if (= first last)
        (eglot-code-actions (+ 4 (line-start first)) (+ 4 (line-start first)) nil t)
      (eglot-code-actions (line-start first) (line-start (1+ last)) nil t))))

(defun user-run (command arguments then)
  ;; The waiting `eglot-execute-command' would ignore messages that arrive together with its answer.
  (jsonrpc-async-request (eglot-current-server) :workspace/executeCommand
                         (list :command command :arguments arguments) :success-fn then))

(defun user-get (result key) (plist-get result key))

(defun user-ended () (cl-some (lambda (one) (string-match-p "type=[13]" one)) (fresh)))

(defun user-begun () nil)                ; eglot 1.9 shows no progress

(defun user-leave () (eglot-shutdown-all))
;;; eglot_user.el ends here
