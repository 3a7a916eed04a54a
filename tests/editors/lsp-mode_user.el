;;; lsp-mode_user.el --- what a user does in Emacs with lsp-mode  -*- lexical-binding: t; -*-

(setq lsp-session-file (expand-file-name "lsp-session" (getenv "HOME"))
      lsp-enable-file-watchers nil
      lsp-warn-no-matched-clients nil)

(defun user-open (path)
  (find-file path)
  (lsp)                                  ; `lsp-deferred' waits until the buffer is shown
  (wait-for "the server" (lambda () (and (lsp-workspaces) (eq 'initialized (lsp--workspace-status (car (lsp-workspaces))))))))

(defun user-idle ()
  (when (and (bound-and-true-p lsp-managed-mode) lsp--delayed-requests) (lsp--flush-delayed-changes)))

(defun user-choose (first last)
  (goto-char (+ (line-start first) (if (= first last) 4 0)))
  (if (= first last)
      (deactivate-mark)
    (push-mark (line-start (1+ last)) t t))
  (let ((transient-mark-mode t))
    (call-interactively #'lsp-execute-code-action))
  (deactivate-mark))

(defun user-run (command arguments then)
  (lsp-request-async "workspace/executeCommand" (list :command command :arguments arguments) then :mode 'detached))

(defun user-get (result key) (lsp-get result key))

(defvar user-kinds nil "Of progress, newest first.")

(setq lsp-progress-function
      (lambda (_workspace params) (push (lsp-get (lsp-get params :value) :kind) user-kinds)))

(defvar user-watches nil "The user has seen progress, and waits for its end.")

(defun user-begun ()
  (let ((until (time-add nil 1)))
    (wait-for "progress" (lambda () (or user-kinds (time-less-p until nil)))))
  (setq user-watches t))

;; Emacs shows no progress of a turn that ends before Emacs has accepted its progress token.
(defun user-ended ()
  (or (and user-watches (equal (car user-kinds) "end"))
      (cl-some (lambda (one) (string-match-p "LSP :: \\(Indwell: \\(done\\|stopped\\)\\|Done\\.\\)" one)) (fresh))))

(defun user-leave () (mapc #'lsp-workspace-shutdown (lsp-workspaces)))
;;; lsp-mode_user.el ends here
