;;; emacs_navigate.el --- the model asks about code, and another server of eglot answers  -*- lexical-binding: t; -*-

;; emacs --batch -q -l init.el -l emacs_navigate.el, with INDWELL_PLACE (JSON) and INDWELL_REPORT.

(require 'json)
(defvar place (json-parse-string (getenv "INDWELL_PLACE") :object-type 'alist :array-type 'list))
(setq make-backup-files nil create-lockfiles nil)

(defun wait-for (what condition)
  (let ((until (+ (float-time) 60)))
    (while (not (funcall condition))
      (when (> (float-time) until) (error "Waited in vain for %s" what))
      (accept-process-output nil 0.02))))

(defun play ()
  (add-to-list 'eglot-server-programs (cons 'python-mode (alist-get 'other place)))
  (add-to-list 'eglot-server-programs (cons 'conf-mode (alist-get 'indwell place)))
  (dolist (file '(path notes))
    (find-file (alist-get file place))
    (apply #'eglot (eglot--guess-contact))
    (wait-for "the server" (lambda () (and (eglot-current-server) eglot--managed-mode))))
  (let ((answer nil))
    (jsonrpc-async-request (eglot--current-server-or-lose) :indwell/prompt '(:text "look" :session "new")
                           :success-fn (lambda (it) (setq answer (plist-get it :ending)))
                           :error-fn (lambda (it) (setq answer (format "%S" it))) :timeout 60)
    (wait-for "the end of the turn" (lambda () answer))
    `((ending . ,answer))))

(let ((report (condition-case failed (play) (error `((failed . ,(error-message-string failed)))))))
  (with-temp-file (getenv "INDWELL_REPORT") (insert (json-encode report))))
(kill-emacs 0)
;;; emacs_navigate.el ends here
