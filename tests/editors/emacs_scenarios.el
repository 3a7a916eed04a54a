;;; emacs_scenarios.el --- plays one scenario in a headless Emacs and writes what was seen  -*- lexical-binding: t; -*-

;; emacs --batch -q -l init.el -l emacs_scenarios.el, with INDWELL_SCENARIO, INDWELL_PLACE (JSON) and
;; INDWELL_REPORT set; init.el is the block of the documentation page.

(require 'cl-lib)
(require 'json)

(defvar place (json-parse-string (getenv "INDWELL_PLACE") :object-type 'alist))
(defvar file nil "The buffer that the user works in.")
(defvar said nil "All that was shown in the echo area, newest first.")
(defvar asked nil "All questions with their choices, newest first.")
(defvar answer "Once" "What the user chooses where a question stands.")
(defvar during nil "What the user does while a question stands, once.")

(defun of (name) (alist-get name place))

(define-advice message (:before (&optional format &rest arguments))
  (when format (push (apply #'format-message format arguments) said)))

(define-advice completing-read (:override (prompt collection &rest _))
  (let ((choices (mapcar (lambda (one) (if (consp one) (car one) one)) (all-completions "" collection))))
    (push (list prompt choices) asked)
    (if (member "Fix this" choices)
        (of 'wanted)
      (when during (funcall (prog1 during (setq during nil))))
      answer)))

(define-advice y-or-n-p (:override (prompt)) (push (list prompt nil) asked) nil)

(defun wait-for (what condition)
  (let ((until (time-add nil 60)))
    (while (not (funcall condition))
      (when (time-less-p until nil) (error "Waited in vain for %s; said: %S; asked: %S" what said asked))
      (accept-process-output nil 0.01)
      ;; eglot sends changes when the user is idle; a batch is never idle, so this code sends them.
      (when (and (bound-and-true-p eglot--managed-mode) (eglot-current-server))
        (eglot--signal-textDocument/didChange)))))

(defun has-said (words) (cl-some (lambda (one) (string-match-p (regexp-quote words) one)) said))

(defun open-file ()
  (setq file (find-file (of 'path)))
  (run-hooks 'post-command-hook)         ; eglot-ensure waits for the user's first key
  (wait-for "the server" (lambda () (and (eglot-current-server) eglot--managed-mode))))

(defun line-start (line) (save-excursion (goto-char (point-min)) (forward-line (1- line)) (point)))

(defun fix ()
  (let ((last-nonmenu-event ?a))         ; the user presses a key, not the mouse
    (eglot-code-actions (line-start (of 'first)) (line-start (1+ (of 'last))) nil t)))

(defun finish ()
  (wait-for "the end of the turn" (lambda () (cl-some (lambda (one) (string-match-p "type=[13]" one)) said))))

(defun text () (buffer-substring-no-properties (point-min) (point-max)))

(defun disk () (with-temp-buffer (insert-file-contents (of 'path)) (buffer-string)))

(defun state (&rest more)
  (append more (list :buffer (text) :disk (disk) :modified (if (buffer-modified-p) t :false)
                     :said (vconcat said) :asked (vconcat (mapcar (lambda (one) (vector (car one) (vconcat (cadr one)))) asked)))))

(defun scenario-mend ()
  (open-file)
  (setq buffer-undo-list nil)
  (fix)
  (finish)
  (let ((seen (state)))
    (undo-boundary)
    (undo)
    (let ((undone (text)))
      (basic-save-buffer)                ; Emacs asks nothing, because it has written the file itself before
      (append (list :undone undone :saved (disk)) seen))))

(defun scenario-confirm () (open-file) (fix) (finish) (state))

(defun scenario-refuse () (open-file) (setq answer "No") (fix) (finish) (state))

(defun scenario-cancel ()
  (open-file)
  (fix)
  (let ((began (float-time)))
    ;; The waiting `eglot-execute-command' would ignore messages that arrive together with its answer.
    (jsonrpc-async-request (eglot-current-server) :workspace/executeCommand '(:command "indwell.cancel" :arguments [])
                           :success-fn #'ignore)
    (finish)
    (state :took (* 1000 (- (float-time) began)))))

(defun append-to (line)
  (with-current-buffer file              ; a question comes while another buffer is current
    (save-excursion (goto-char (line-start line)) (end-of-line) (insert "  # mine"))))

(defun scenario-edited_while_asked ()
  (open-file)
  (setq during (lambda () (append-to 1)))
  (fix)
  (finish)
  (state))

(defun scenario-unsaved () (open-file) (append-to (of 'last)) (fix) (finish) (state))

(let* ((report (condition-case problem
                   (funcall (intern (concat "scenario-" (getenv "INDWELL_SCENARIO"))))
                 ((error quit) (list :failed (format "%S" problem)))))
       (coding-system-for-write 'utf-8-unix))
  (with-temp-file (getenv "INDWELL_REPORT") (insert (json-serialize report :false-object :false)))
  (ignore-errors (eglot-shutdown-all)))
(kill-emacs 0)
;;; emacs_scenarios.el ends here
