;;; indwell_user.el --- what a user does in Emacs with indwell.el  -*- lexical-binding: t; -*-

;; The package has no menu of code actions: the titles are those of the commands for the line.

(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil)
(require 'indwell)
(setq indwell-show-chat nil)

(defun user-open (path)
  (find-file path)
  (indwell--connection))

(defun user-idle () nil)

(defun user-choose (first last)
  (goto-char (line-start first))
  (wait-for "what was sent" (lambda () (null indwell--unsent)))
  (let* ((mine (with-current-buffer (current-buffer) (indwell--changes-at-point)))
         (title (completing-read "Action: " (append '("Fix this" "Explain this")
                                                    (and mine '("Accept this change" "Reject this change"))))))
    (pcase title
      ("Fix this"
       (push-mark (line-start (1+ last)) t t)
       (let ((transient-mark-mode t) (mark-active t)) (indwell-fix))
       (deactivate-mark))
      ("Accept this change" (indwell-accept))
      ("Reject this change" (indwell-reject)))))

(defun user-run (command arguments then)
  (indwell--execute (indwell--connection) command (and (> (length arguments) 0) (aref arguments 0)) then))

(defun user-get (result key) (plist-get result key))

(defun user-ended ()
  (cl-some (lambda (one) (string-match-p "\\`Indwell: \\(done\\|stopped\\|failed\\)" one)) (fresh)))

(defun user-begun () (wait-for "the turn" (lambda () (indwell--running (indwell--connection)))))

(defun user-leave () (indwell-quit))

;; A batch has no keys, so Emacs never finds a moment without typing.
(define-advice indwell--read-word (:override (question))
  (let ((titles (indwell--question-titles question)))
    (push (list (indwell--question-message question) titles) asked)
    (cl-position answer titles :test #'equal)))
(define-advice current-idle-time (:override ()) (seconds-to-time 60))
;;; indwell_user.el ends here
