;;; indwell_checks.el --- what indwell.el does beside eglot, and what it sends  -*- lexical-binding: t; -*-

;; emacs --batch -q -l init.el -l indwell_checks.el, with INDWELL_CHECK, INDWELL_PLACE (JSON) and INDWELL_REPORT.

(require 'cl-lib)
(require 'json)
(require 'indwell)

(defvar place (json-parse-string (getenv "INDWELL_PLACE") :object-type 'alist :array-type 'list))
(setq make-backup-files nil create-lockfiles nil indwell-show-chat nil)

(defun of (name) (alist-get name place))

(defun wait-for (what condition)
  (let ((until (+ (float-time) 60)))
    (while (not (funcall condition))
      (when (> (float-time) until) (error "Waited in vain for %s" what))
      (accept-process-output nil 0.02))))

(defun prompt (text)
  (let (ended)
    (cl-flet ((note (_connection _session event)
                (when (equal "turnFinished" (plist-get event :type)) (setq ended event))))
      (add-hook 'indwell-event-functions #'note)
      (indwell--prompt (indwell--connection) text)
      (wait-for "the end of the turn" (lambda () ended))
      (remove-hook 'indwell-event-functions #'note)
      ended)))

(defun eglot-facts ()
  (list (process-id (jsonrpc--process (eglot-current-server)))
        (length (eglot--managed-buffers (eglot-current-server)))
        (format "%S" (list eglot-confirm-server-initiated-edits eglot-server-programs eglot-stay-out-of
                           eldoc-documentation-functions flymake-diagnostic-functions xref-backend-functions))))

(defun check-beside ()
  (require 'eglot)
  (add-to-list 'eglot-server-programs (cons 'python-mode (of 'other)))
  (find-file (of 'path))
  (apply #'eglot (eglot--guess-contact))
  (wait-for "the other server" (lambda () (and (eglot-current-server) eglot--managed-mode)))
  (let ((before (eglot-facts)) ending)
    (setq ending (plist-get (prompt "look") :ending))
    (eglot--signal-textDocument/didChange)
    (let ((hover (plist-get (plist-get (jsonrpc-request (eglot-current-server) :textDocument/hover
                                                        (eglot--TextDocumentPositionParams))
                                       :contents)
                            :value)))
      (list :ending ending :untouched (if (equal before (eglot-facts)) t :false)
            :before (nth 2 before) :after (nth 2 (eglot-facts))
            :hover hover :text (buffer-string) :pending (indwell--pending (indwell--connection))))))

;;;; The text that Emacs sends; a process that echoes it takes the place of the server

(defvar echoed nil "All messages, newest first.")

(defun echo ()
  (let ((connection
         (make-instance 'indwell-connection :name "echo" :root (of 'root) :events-buffer-scrollback-size 0
                        :notification-dispatcher (lambda (_ method params) (push (list method params) echoed))
                        :process (lambda () (make-process :name "echo" :command '("cat") :connection-type 'pipe
                                                          :coding 'utf-8-emacs-unix :noquery t)))))
    (setf (indwell--incremental connection) t)
    connection))

(defun any (list) (nth (random (length list)) list))

(defun edit-anyhow ()
  (let ((one (+ (point-min) (random (1+ (buffer-size))))) (two (+ (point-min) (random (1+ (buffer-size))))))
    (goto-char one)
    (pcase (random 9)
      (0 (insert (any '("a" "🙂" "é\n" "\n" "zwei Wörter\n🙂🙂x" ""))))
      (1 (delete-region one (min (point-max) (+ one (random 9)))))
      (2 (capitalize-word 1))
      (3 (ignore-errors (transpose-lines 1)))
      (4 (fill-paragraph))
      (5 (upcase-region (min one two) (max one two)))
      (6 (undo-boundary) (ignore-errors (let ((last-command nil)) (undo))))
      (7 (goto-char (point-min)) (dotimes (_ 3) (when (re-search-forward "[aeiou]" nil t) (replace-match "🙂e"))))
      (8 (save-restriction (narrow-to-region (min one two) (max one two)) (insert "narrow"))))))

(defun check-sync ()
  (random "indwell")
  (vconcat
   (cl-loop
    for encoding in '("utf-8" "utf-16" "utf-32") append
    (cl-loop
     for start in '("one two\nthree 🙂 é four\n\nlast" "" "a\rb 🙂\r\nc\n🙂\rd") collect
     (let ((connection (echo)) (buffer (find-file-noselect (of 'path))))
       (setf (indwell--encoding connection) encoding)
       (with-current-buffer buffer
         (erase-buffer)
         (insert start)
         (setq echoed nil buffer-undo-list nil)
         (indwell--open connection)
         (dotimes (round 60) (edit-anyhow) (when (= 0 (% round 7)) (indwell--flush connection)))
         (indwell--flush connection)
         (let ((text (buffer-substring-no-properties (point-min) (point-max))) (version indwell--version))
           ;; Each position of the text must survive the conversion to a position of the protocol and back.
           (goto-char (point-min))
           (while (not (eobp))
             (unless (or (= ?\n (char-after)) (= (point) (indwell--point (indwell--position (point) encoding) encoding)))
               (error "Position %s becomes %s" (point) (indwell--position (point) encoding)))
             (forward-char))
           (set-buffer-modified-p nil)
           (kill-buffer buffer)
           (wait-for "the echo" (lambda () (assq 'textDocument/didClose echoed)))
           (jsonrpc-shutdown connection)
           (list :encoding encoding :start start :final text :version version
                 :changes (vconcat (cl-loop for (method params) in (reverse echoed)
                                            when (eq method 'textDocument/didChange) collect params))))))))))

;;;; A document that the server shows

(defvar obeyed nil "Whether a shown document has run its code.")

(defun check-shown ()
  ;; With :all, Emacs answers its question about local variables with yes, as a key typed ahead may.
  (setq enable-local-variables :all enable-local-eval t)
  (let ((file (expand-file-name "shown.txt" (of 'root))) (connection (echo)))
    (with-temp-file file
      (insert "words\n\nLocal " "Variables:\nfill-column: 33\neval: (setq obeyed t)\nEnd:\n"))
    (indwell--show-document connection (list :uri (indwell--path-to-uri file)))
    (jsonrpc-shutdown connection)
    (with-current-buffer (get-file-buffer file)
      (list :column fill-column :obeyed (if obeyed t :false)))))

(let ((report (condition-case failed (funcall (intern (concat "check-" (getenv "INDWELL_CHECK"))))
                (error (list :failed (format "%S" failed)))))
      (coding-system-for-write 'utf-8-unix))
  (with-temp-file (getenv "INDWELL_REPORT") (insert (json-serialize report :false-object :false))))
(kill-emacs 0)
;;; indwell_checks.el ends here
