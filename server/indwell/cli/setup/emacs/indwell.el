;;; indwell.el --- Coding agent beside your language servers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; Author: The Indwell developers
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, languages, convenience

;; Permission is hereby granted, free of charge, to any person obtaining a copy
;; of this software and associated documentation files (the "Software"), to deal
;; in the Software without restriction, including without limitation the rights
;; to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
;; copies of the Software, and to permit persons to whom the Software is
;; furnished to do so, subject to the following conditions:
;;
;; The above copyright notice and this permission notice shall be included in
;; all copies or substantial portions of the Software.
;;
;; THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
;; IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
;; FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.  IN NO EVENT SHALL THE
;; AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
;; LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
;; OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
;; SOFTWARE.

;;; Commentary:

;; Indwell is a coding agent that lives in a language server.  This package runs
;; the server beside those that you have in eglot or lsp-mode, and changes none of
;; their settings.
;;
;;   (global-set-key (kbd "C-c i") #'indwell-menu)
;;
;; C-c i shows a menu of all actions; C-c i c opens the chat of the project, and
;; C-c i f fixes what is wrong at point or in the region.  The server starts with
;; the first action.

;;; Code:

(require 'indwell-connection)
(require 'indwell-questions)
(require 'indwell-review)
(require 'indwell-chat)
(require 'indwell-neighbours)
(require 'indwell-sessions)
(require 'transient)

(declare-function dired-get-marked-files "dired")

(defcustom indwell-show-chat t
  "Whether an action such as `indwell-fix' shows the chat beside your work."
  :group 'indwell
  :type 'boolean)

;;;; What the user looks at

(defvar indwell--attended nil "What the server was told last of the user's attention.")
(defvar indwell--attention-timer nil "The timer that tells the server of it.")

(defun indwell--attend ()
  "Tell the server which document and which selection the user looks at."
  (when-let* ((connection (and indwell--document (car indwell--document)))
              (uri (cadr indwell--document)))
    (when (jsonrpc-running-p connection)
      (let* ((range (if (use-region-p) (cons (region-beginning) (region-end)) (cons (point) (point))))
             (seen (list uri indwell--version range)))
        (unless (equal seen indwell--attended)
          (indwell--flush-buffer (current-buffer))
          (unless (equal uri (car indwell--attended))
            (jsonrpc-notify connection :indwell/didFocus (list :uri uri)))
          (jsonrpc-notify connection :indwell/didChangeSelection
                          (list :uri uri :version indwell--version
                                :ranges (vector (indwell--range (car range) (cdr range)
                                                                (indwell--encoding connection)))))
          (setq indwell--attended seen))))))

;;;; The mode line

(defun indwell--state (connection)
  "Return the state of CONNECTION in a word."
  (cond ((indwell--questions connection) "asks")
        ((indwell--running connection)
         (let ((number (length (indwell--running connection))))
           (if (> number 1) (format "%d turns" number) "works")))
        ((indwell--failed connection) "failed")
        (t (or (plist-get (indwell--status connection) :mode) "ready"))))

(defun indwell--shown-connection ()
  "Return the connection that the mode line of the buffer shows, or nil.
No file is looked at, since a mode line is drawn often."
  (seq-find (lambda (it)
              (and (jsonrpc-running-p it)
                   (or (eq it indwell--own-connection) (eq it (car indwell--document))
                       (and default-directory
                            (string-prefix-p (indwell--root-of it) (expand-file-name default-directory))))))
            indwell--connections))

(defun indwell--mode-line ()
  "Return the segment of the mode line for the buffer."
  (when-let ((connection (indwell--shown-connection)))
    (let ((state (indwell--state connection)) (pending (indwell--pending connection)))
      (propertize (concat " Indwell:" state (if (> pending 0) (format " %d±" pending) ""))
                  'face (if (member state '("asks" "failed")) 'warning 'mode-line-emphasis)
                  'mouse-face 'mode-line-highlight
                  'local-map (let ((map (make-sparse-keymap)))
                               (define-key map [mode-line mouse-1] #'indwell-menu)
                               map)
                  'help-echo (concat "Indwell " state
                                     (when-let ((words (indwell--progress connection))) (concat ": " words))
                                     (if (> pending 0) (format ", %d changes to review" pending) ""))))))

(defconst indwell--mode-line-entry '(indwell-mode (:eval (indwell--mode-line)))
  "The entry in the mode line.")

;;;###autoload
(define-minor-mode indwell-mode
  "Keep the server of Indwell informed of your files, and show its state.
The first action of Indwell turns this mode on."
  :global t
  :group 'indwell
  (when indwell--attention-timer (cancel-timer indwell--attention-timer))
  (setq indwell--attention-timer nil)
  (cond
   (indwell-mode
    (add-hook 'find-file-hook #'indwell--file-opened)
    (add-hook 'after-change-major-mode-hook #'indwell--file-opened)
    (add-to-list 'mode-line-misc-info indwell--mode-line-entry)
    (setq indwell--attention-timer (run-with-idle-timer 0.3 t #'indwell--attend)))
   (t
    (remove-hook 'find-file-hook #'indwell--file-opened)
    (remove-hook 'after-change-major-mode-hook #'indwell--file-opened)
    (setq mode-line-misc-info (delete indwell--mode-line-entry mode-line-misc-info))))
  (force-mode-line-update t))

(defun indwell--connected (connection)
  "Turn the mode on, and read the status of CONNECTION."
  (indwell-mode 1)
  (indwell--read-status connection))

(defun indwell--status-event (connection _session event)
  "Read the status of CONNECTION again where EVENT may have changed it."
  (when (equal (plist-get event :type) "turnFinished")
    (message "Indwell: %s" (indwell-chat--ending event)))
  (when (member (plist-get event :type) '("turnStarted" "turnFinished" "planChanged"))
    (indwell--read-status connection)))

(add-hook 'indwell-connected-functions #'indwell--connected)
(add-hook 'indwell-event-functions #'indwell--status-event)

;;;; Actions on code

(defun indwell--no-file-words (what)
  "Return a sentence for a buffer without a file in which WHAT cannot be done."
  (format "%s visits no file, so Indwell cannot %s it; save it with C-x C-w, or ask about it"
          (buffer-name) what))

(defun indwell--task (command what words)
  "Run the task COMMAND at point or in the region, with the user's WORDS.
WHAT names the task for a buffer that visits no file."
  (cond
   (buffer-file-name
    (let* ((connection (indwell--connection))
           (encoding (indwell--encoding connection))
           (start (if (use-region-p) (region-beginning) (line-beginning-position)))
           (end (if (use-region-p) (region-end) (line-end-position))))
      (if (not indwell--document)
          (message "%s is not in the folder %s, where Indwell works" (buffer-name)
                   (abbreviate-file-name (indwell--root-of connection)))
        (when indwell-show-chat (indwell-chat--display connection))
        (indwell--execute
         connection command
         (append (list :uri (cadr indwell--document) :version indwell--version
                       :range (indwell--range start end encoding)
                       :diagnostics (vconcat (indwell--problems connection start end)))
                 (and words (list :text words)))
         (lambda (result)
           (when (plist-get result :queued) (message "Indwell: this waits until the running turn has ended")))))))
   ((derived-mode-p 'dired-mode)
    (indwell--ask-about-files (or words (concat (capitalize what) " these files."))))
   ((member command '("indwell.ask" "indwell.explain"))
    (indwell--ask-about-text (or words "Explain this text.")))
   (t (message "%s" (indwell--no-file-words what)))))

(defun indwell--ask-about-files (words)
  "Send WORDS with the marked files of Dired, or with the file at point."
  (let* ((connection (indwell--connection)) (root (indwell--root-of connection))
         ;; No file is on the line of a heading, and Dired refuses "." and "..".
         (marked (or (ignore-errors (dired-get-marked-files)) (list default-directory)))
         (files (mapcar (lambda (it)
                          (let ((name (file-relative-name it root)))
                            (if (file-directory-p it) (file-name-as-directory name) name)))
                        marked)))
    (when indwell-show-chat (indwell-chat--display connection))
    (indwell--prompt connection words (vconcat files))))

(defun indwell--ask-about-text (words)
  "Send WORDS with the region, or with the text of the buffer."
  (let* ((connection (indwell--connection))
         (text (if (use-region-p) (buffer-substring-no-properties (region-beginning) (region-end))
                 (indwell--text)))
         (most 100000))
    (when indwell-show-chat (indwell-chat--display connection))
    (indwell--prompt connection words nil
                     (unless (string-blank-p text)
                       (vector (list :kind "text" :label (buffer-name)
                                     :text (if (> (length text) most) (substring text 0 most) text)))))))

;;;###autoload
(defun indwell-fix ()
  "Let Indwell fix what is wrong on the line or in the region."
  (interactive)
  (indwell--task "indwell.fix" "fix" nil))

;;;###autoload
(defun indwell-explain ()
  "Let Indwell explain the line, the region, or the marked files of Dired."
  (interactive)
  (indwell--task "indwell.explain" "explain" nil))

;;;###autoload
(defun indwell-document ()
  "Let Indwell write or correct docstrings and comments here."
  (interactive)
  (indwell--task "indwell.document" "document" nil))

;;;###autoload
(defun indwell-write-tests ()
  "Let Indwell write tests for the line or the region."
  (interactive)
  (indwell--task "indwell.test" "write tests for" nil))

;;;###autoload
(defun indwell-ask-about ()
  "Ask Indwell about the line, the region, the buffer, or the marked files."
  (interactive)
  (indwell--read-words "Ask about this" (lambda (words) (indwell--task "indwell.ask" "ask about" words))))

;;;###autoload
(defun indwell-refactor ()
  "Let Indwell refactor the line or the region as your words say."
  (interactive)
  (if (or buffer-file-name (derived-mode-p 'dired-mode))
      (indwell--read-words "Refactor how"
                           (lambda (words) (indwell--task "indwell.refactor" "refactor" words)))
    (message "%s" (indwell--no-file-words "refactor"))))

;;;###autoload
(defun indwell-fix-file ()
  "Let Indwell fix all problems of the file."
  (interactive)
  (save-mark-and-excursion
    (when buffer-file-name
      (push-mark (point-max) t t)
      (goto-char (point-min)))
    (let ((transient-mark-mode t) (mark-active (and buffer-file-name t)))
      (indwell--task "indwell.fixAll" "fix" nil))))

;;;###autoload
(defun indwell-prompt ()
  "Send a prompt to the current session of the project.
While a turn runs, the words go to that turn."
  (interactive)
  (let* ((connection (indwell--connection)) (session (indwell--session connection)))
    (indwell--read-words
     (if (member session (indwell--running connection)) "Words to the running turn" "What should Indwell do")
     (lambda (words)
       (if (member session (indwell--running connection))
           (indwell--steer connection words session)
         (when indwell-show-chat (indwell-chat--display connection))
         (indwell--prompt connection words))))))

;;;; The menu

(defun indwell--menu-heading ()
  "Return the state of Indwell for the head of the menu."
  (let ((connection (ignore-errors (indwell--current))))
    (if (not connection) "Indwell (starts with the first action)"
      (let ((status (indwell--status connection)))
        (format "Indwell: %s · %s · %s · %s" (indwell--state connection)
                (or (plist-get status :mode) "") (or (plist-get status :model) "")
                (indwell--pending-words connection))))))

;;;###autoload (autoload 'indwell-menu "indwell" nil t)
(transient-define-prefix indwell-menu ()
  "All actions of Indwell."
  [:description indwell--menu-heading
   ["Here"
    ("f" "Fix this" indwell-fix)
    ("e" "Explain this" indwell-explain)
    ("a" "Ask about this…" indwell-ask-about)
    ("r" "Refactor this…" indwell-refactor)
    ("d" "Document this" indwell-document)
    ("t" "Write tests" indwell-write-tests)
    ("F" "Fix all problems in file" indwell-fix-file)]
   ["Chat"
    ("c" "Chat" indwell-chat)
    ("i" "Prompt…" indwell-prompt)
    ("k" "Stop the turn" indwell-stop)
    ("q" "Answer the question" indwell-answer-question)
    ("v" "Carry out the plan" indwell-approve-plan)
    ("V" "Reject the plan" indwell-reject-plan)]
   ["Review"
    ("n" "Next change" indwell-next-change)
    ("p" "Previous change" indwell-previous-change)
    ("y" "Accept" indwell-accept)
    ("x" "Reject" indwell-reject)
    ("Y" "Accept all" indwell-accept-all)
    ("X" "Reject all" indwell-reject-all)
    ("u" "Undo last verdict" indwell-undo-verdict)
    ("=" "Show as diff" indwell-diff)]
   ["Session"
    ("s" "Sessions" indwell-sessions)
    ("w" "New session" indwell-new-session)
    ("b" "Rewind" indwell-rewind)
    ("m" "Mode" indwell-set-mode)
    ("l" "Model" indwell-set-model)
    ("E" "Effort" indwell-set-effort)
    ("T" "Trust this folder" indwell-trust)
    ("L" "Log in" indwell-login)]])

(provide 'indwell)
;;; indwell.el ends here
