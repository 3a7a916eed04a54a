;;; emacs_shared.el --- the scenarios that every editor plays, for both clients of Emacs  -*- lexical-binding: t; -*-

;; Load this file after init.el and the client's own file, which defines: user-open (a path; makes the buffer current),
;; user-titles (of the code actions of lines), user-choose (first, last, title), user-run (command,
;; arguments, the function that gets the result), user-idle (what Emacs does while a user is idle).

(require 'cl-lib)
(require 'json)

(defvar place (json-parse-string (getenv "INDWELL_PLACE") :object-type 'alist))
(defvar said nil "All that was shown in the echo area, newest first.")
(defvar asked nil "All questions with their choices, newest first.")
(defvar answer "Once" "What the user chooses where a question stands.")
(defvar wanted nil "The code action that the user chooses; nil leaves the list.")
(defvar listed nil "The titles of the last list of code actions.")
(defvar began 0 "How many messages there were when the turn began.")

(defun of (name) (alist-get name place))

(define-advice message (:before (&optional format &rest arguments))
  (when format (push (apply #'format-message format arguments) said)))

(define-advice completing-read (:override (prompt collection &rest _))
  (let ((choices (all-completions "" collection)))
    (if (not (member "Explain this" choices))
        (progn (push (list prompt choices) asked) answer)
      (setq listed choices)
      (or wanted (signal 'quit nil)))))

;; A batch has no keys, so Emacs never finds a moment without typing.
(define-advice indwell-ask (:override (message titles)) (push (list message titles) asked) (and (member answer titles) answer))
(when (fboundp 'indwell-question)
  (define-advice current-idle-time (:override ()) (seconds-to-time 2)))

;; Emacs is so slow here that it reads the answer to a command together with the message after it.
(defvar stalled nil "Whether Emacs does nothing for a second after it has sent a command.")
(define-advice process-send-string (:after (_process message))
  (when (and stalled (string-match-p "\"workspace/executeCommand\"" message))
    (call-process "sleep" nil nil nil "1")))

(define-advice y-or-n-p (:override (prompt)) (push (list prompt nil) asked) nil)

(defun wait-for (what condition)
  (let ((until (time-add nil 60)))
    (while (not (funcall condition))
      (when (time-less-p until nil) (error "Waited in vain for %s; said: %S; asked: %S; buffer: %S" what said asked (text)))
      (accept-process-output nil 0.01)
      (user-idle))))

(defun line-start (line) (save-excursion (goto-char (point-min)) (forward-line (1- line)) (point)))

(defun titles (line)
  (setq listed nil wanted nil)
  (condition-case nil (user-choose line line) (quit nil))
  (vconcat listed))

(defun choose (line title) (setq wanted title) (user-choose line line))

(defun begin ()
  (setq wanted "Fix this" began (length said))
  (user-choose (of 'first) (of 'last)))

(defun finish () (wait-for "the end of the turn" #'user-ended))

(defun fix () (begin) (finish))

(defun fresh () (butlast said began))

(defun text () (buffer-substring-no-properties (point-min) (point-max)))

(defun disk () (with-temp-buffer (insert-file-contents (of 'path)) (buffer-string)))

(defun format-buffer ()
  (save-excursion
    (goto-char (point-min))
    (while (search-forward "  #" nil t) (replace-match " #" t t))
    (goto-char (point-min))
    (when (search-forward "é 🙂." (line-end-position) t) (replace-match "É 🙂." t t))))

(defun scenario-fix ()
  (user-open (of 'path))
  (add-hook 'before-save-hook #'format-buffer nil t)
  (let ((report (list :titles (titles (of 'first)))))
    (setq buffer-undo-list nil)
    (fix)
    (setq report (append (list :buffer (text)) report))
    (undo-boundary)
    (setq last-command 'other)
    (undo)
    (setq report (append (list :undone (text)) report))
    (undo-boundary)
    (setq last-command 'other)
    (undo)
    (setq report (append (list :redone (text)) report))
    (basic-save-buffer)
    (setq report (append (list :saved (text) :disk (disk)) report))
    (fix)
    (append (list :again (text)) report)))

(defun scenario-ask ()
  (user-open (of 'path))
  (setq answer "No" stalled t)
  (fix)
  (let ((refused (list :buffer (text) :disk (disk))))
    (setq answer "Once")
    (fix)
    (save-excursion (goto-char (line-start (of 'last))) (end-of-line) (insert "  # mine"))
    (fix)
    (list :refused refused :buffer (text) :disk (disk)
          :questions (vconcat (mapcar (lambda (one) (list :prompt (car one) :titles (vconcat (cadr one)))) (reverse asked))))))

(defun scenario-cancel ()
  (user-open (of 'path))
  (begin)
  (user-begun)
  (let ((started (float-time)))
    (user-run "indwell.cancel" [] #'ignore)
    (finish)
    (list :took (* 1000 (- (float-time) started)) :buffer (text) :disk (disk))))

(defun scenario-review ()
  (user-open (of 'path))
  (fix)
  (let (report (lines (of 'lines)) (before (text)))
    (cl-flet ((step (name action)
                (condition-case problem (setq report (append (funcall action) report))
                  ((error quit) (setq report (append (list name (format "%S" problem)) report))))))
      (step :accept_failed
            (lambda ()
              (let ((offered (titles (aref lines 0))))
                (choose (aref lines 0) "Accept this change")
                (wait-for "the verdict" (lambda () (not (cl-find "Accept this change" (titles (aref lines 0)) :test #'equal))))
                (list :offered offered :buffer_accepted (text)
                      :offered_accepted (titles (aref lines 0)) :offered_other (titles (aref lines 1))))))
      (step :reject_failed
            (lambda ()
              (setq before (text))
              ;; No change is sent here, because Emacs does nothing else until the command is answered.
              (let ((started (float-time)) took)
                (choose (aref lines 1) "Reject this change")
                (setq took (- (float-time) started))
                (wait-for "the rejection" (lambda () (not (equal before (text)))))
                (wait-for "what came of it"
                          (lambda () (cl-some (lambda (one) (string-match-p "rejected 1 change" one)) said)))
                (list :buffer_rejected (text) :offered_last (titles (aref lines 2)) :reject_took took))))
      (step :rewind_failed
            (lambda ()
              (setq before (text))
              (user-run "indwell.rewind" [(:turn 0 :files t)] #'ignore)
              (wait-for "the rewind" (lambda () (not (equal before (text)))))
              (list :buffer_rewound (text)))))
    report))

(defun scenario-chat ()
  (user-open (of 'path))
  (let (made)
    (user-run "indwell.chat" [(:wait t)] (lambda (result) (setq made result)))
    (wait-for "the chat" (lambda () made))
    (user-open (user-get made :path))
    (goto-char (point-max))
    (insert (of 'question) "\n")
    (user-idle)
    (user-run "indwell.send" (vector (list :uri (user-get made :uri))) #'ignore)
    (wait-for "the answer" (lambda () (string-match-p "Nothing else\\(.\\|\n\\)*## You" (text))))
    (list :chat_path (user-get made :path) :chat (text))))

(let* ((report (condition-case problem
                   (funcall (intern (concat "scenario-" (getenv "INDWELL_SCENARIO"))))
                 ((error quit) (list :failed (format "%S" problem)))))
       (coding-system-for-write 'utf-8-unix))
  (with-temp-file (getenv "INDWELL_REPORT")
    (insert (json-serialize (append report (list :said (vconcat said) :listed (vconcat listed) :choices (format "%S" asked))) :false-object :false)))
  (ignore-errors (user-leave)))
(kill-emacs 0)
;;; emacs_shared.el ends here
