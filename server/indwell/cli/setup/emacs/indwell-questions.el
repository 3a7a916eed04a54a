;;; indwell-questions.el --- Questions of Indwell to the user  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; This file is part of the package indwell; see indwell.el.

;;; Commentary:

;; A question waits until the user has typed nothing for a moment.  It shows its
;; whole text in a window, drops the keys that were typed before, and takes only
;; a word that nobody types into a file, such as allow-once.  A question for
;; free text opens a buffer in which C-c C-c sends.

;;; Code:

(require 'diff-mode)
(require 'indwell-connection)

(defcustom indwell-question-pause 2.0
  "Seconds without a key before a question takes the minibuffer."
  :group 'indwell
  :type 'number)

(cl-defstruct indwell--question
  "A question of the server: MESSAGE and TITLES of its answers, or PROMPT for text.
REPLY makes the result for the server of the index of an answer, or of nil."
  later connection message titles words prompt reply withdrawn open)

(defvar indwell--question-timer nil "The timer that waits for a pause of the user.")
(defvar indwell--open-question nil "The question that has the minibuffer.")
(defvar indwell--last-key 0 "When the user pressed a key, since the first question.")

;;;; Words

(defun indwell--answer-words (titles)
  "Return a word for each of TITLES: no for No, else such as allow-once.
Nobody types such a word into a file by chance."
  (let* ((start (if (equal (car titles) "No") "allow" "choose"))
         (words
          (mapcar
           (lambda (title)
             (if (equal title "No") "no"
               (let ((parts (split-string (downcase (replace-regexp-in-string ":.*" "" title))
                                          "[^a-z]+" t)))
                 (string-join (cons start (or (seq-take parts 3) '("answer"))) "-"))))
           titles))
         (at -1))
    (mapcar (lambda (word)
              (setq at (1+ at))
              (if (> (seq-count (lambda (it) (equal it word)) words) 1)
                  (format "%s-%c" word (+ ?a at))
                word))
            words)))

(defun indwell--chosen-word (words text)
  "Return the index in WORDS of TEXT, or nil.
The beginning of a word is enough, with a letter behind its hyphen."
  (let* ((typed (downcase (string-trim text)))
         (found (and (string-match-p "-." typed)
                     (seq-filter (lambda (it) (string-prefix-p typed it)) words))))
    (or (seq-position words typed)
        (and found (null (cdr found)) (seq-position words (car found))))))

;;;; The queue of questions

(defun indwell--add-question (question)
  "Let QUESTION wait for the user."
  (let ((connection (indwell--question-connection question)))
    (setf (indwell--questions connection)
          (append (indwell--questions connection) (list question)))
    (force-mode-line-update t)
    (indwell--watch-for-pause)))

(defun indwell--remove-question (question)
  "Remove QUESTION from the questions that wait."
  (let ((connection (indwell--question-connection question)))
    (setf (indwell--questions connection) (delq question (indwell--questions connection)))
    (force-mode-line-update t)))

(defun indwell--waiting-questions ()
  "Return the questions of all servers that the user has not seen yet."
  (seq-remove (lambda (it) (or (indwell--question-withdrawn it) (indwell--question-open it)))
              (seq-mapcat #'indwell--questions (indwell--living))))

(defun indwell--note-key ()
  "Note that the user presses a key."
  (setq indwell--last-key (current-time)))

(defun indwell--idle-seconds ()
  "Return for how many seconds the user has pressed no key."
  (let ((idle (current-idle-time)) (since (float-time (time-since indwell--last-key))))
    ;; After a question that a timer asked, Emacs knows no idle time until the next key.
    (if idle (min since (float-time idle)) since)))

(defun indwell--watch-for-pause ()
  "Look regularly whether the user pauses while questions wait."
  (add-hook 'pre-command-hook #'indwell--note-key)
  (unless indwell--question-timer
    (setq indwell--question-timer (run-with-timer 0.1 0.2 #'indwell--maybe-ask))))

(defun indwell--maybe-ask ()
  "Ask the first waiting question if the user has typed nothing for a moment."
  (cond
   ((null (indwell--waiting-questions))
    (when indwell--question-timer (cancel-timer indwell--question-timer))
    (setq indwell--question-timer nil))
   ((or indwell--open-question (active-minibuffer-window) executing-kbd-macro
        (bound-and-true-p isearch-mode) (bound-and-true-p transient--prefix)
        (input-pending-p)
        (< (indwell--idle-seconds) indwell-question-pause)))
   (t
    (when indwell--question-timer (cancel-timer indwell--question-timer))
    (setq indwell--question-timer nil)
    (indwell--ask (car (indwell--waiting-questions))))))

(defun indwell-answer-question ()
  "Answer the question of Indwell that waits longest."
  (interactive)
  (let ((question (car (indwell--waiting-questions))))
    (cond ((null question) (message "Indwell asks nothing"))
          (indwell--open-question (message "The question is open: answer it in the minibuffer"))
          (t (indwell--ask question)))))

(defun indwell--ask (question)
  "Ask QUESTION now, and send its answer."
  (when question
    (if (indwell--question-prompt question)
        (indwell--ask-for-text question)
      (setq indwell--open-question question)
      (let ((result nil) (answered nil))
        (unwind-protect
            (let ((at (indwell--read-word question)))
              (unless (indwell--question-withdrawn question)
                (setq result (funcall (indwell--question-reply question) at) answered t)))
          (setq indwell--open-question nil)
          (indwell--note-key)
          (indwell--remove-question question))
        ;; The result may be another question, which answers later.
        (when (and answered (not (indwell--question-p result)))
          (indwell--answer (indwell--question-later question) result))))
    (when (indwell--waiting-questions) (indwell--watch-for-pause))))

(defun indwell--show-question (question)
  "Show the whole text of QUESTION and its words in a window at the bottom."
  (with-current-buffer (get-buffer-create "*Indwell asks*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (indwell--question-message question) "\n\n")
      (cl-mapc (lambda (word title)
                 (insert "  " (propertize word 'face 'bold)
                         (if (equal word (downcase title)) "\n" (concat "  " title "\n"))))
               (indwell--question-words question) (indwell--question-titles question)))
    (special-mode)
    (visual-line-mode)
    (goto-char (point-min))
    (let ((inhibit-read-only t))
      (while (re-search-forward "^│ \\([-+]\\).*" nil t)
        (put-text-property (match-beginning 0) (match-end 0) 'face
                           (if (equal "+" (match-string 1)) 'diff-added 'diff-removed))))
    (goto-char (point-min))
    (setq header-line-format
          (concat " " (if (> (count-lines (point-min) (point-max)) (/ (frame-height) 2))
                          "Indwell asks; C-M-v shows more of it"
                        "Indwell asks")))
    (let ((window (display-buffer (current-buffer) '(display-buffer-at-bottom))))
      (when window (fit-window-to-buffer window (max 6 (/ (frame-height) 2))))
      window)))

(defun indwell--drop-keys ()
  "Drop the keys that were typed before a question, until none comes for a moment."
  (let ((dropped nil))
    (while (not (sit-for 0.3))
      (discard-input)
      (setq dropped t))
    (discard-input)
    dropped))

(defun indwell--read-word (question)
  "Return the index of the answer that the user chose for QUESTION, or nil."
  (let ((words (indwell--answer-words (indwell--question-titles question)))
        (note "") (quits 0) (at nil) window)
    (setf (indwell--question-words question) words)
    (save-window-excursion
      (setq window (indwell--show-question question))
      (while (not (or at (= quits 2) (indwell--question-withdrawn question)))
        (when (indwell--drop-keys) (message "Indwell dropped the keys that came before its question"))
        (let ((text (condition-case nil
                        (let ((inhibit-quit nil) (enable-recursive-minibuffers t))
                          (minibuffer-with-setup-hook
                              (lambda () (setq minibuffer-scroll-window window))
                            (read-string (format "%sType a word (%s) and RET: "
                                                 note (string-join words ", ")))))
                      (quit nil))))
          (setq at (and text (not (indwell--question-withdrawn question))
                        (indwell--chosen-word words text))
                quits (if text 0 (1+ quits))
                note (if text (format "\"%s\" is not one of the words. "
                                      (truncate-string-to-width text 30 nil nil "…"))
                       "C-g again gives no answer. ")))))
    (when-let ((window (get-buffer-window "*Indwell asks*"))) (quit-window nil window))
    (message "Indwell: %s" (cond ((indwell--question-withdrawn question) "the question was withdrawn")
                                 (at (format "answered %s" (nth at words)))
                                 (t "no answer, which means no")))
    at))

(defun indwell--withdraw (question)
  "Take QUESTION back: its answer has no effect any more."
  (setf (indwell--question-withdrawn question) t
        (indwell--later-answered (indwell--question-later question)) t)
  (indwell--remove-question question)
  (when-let ((buffer (indwell--question-open question)))
    (when (buffer-live-p buffer) (kill-buffer buffer)))
  (when (eq question indwell--open-question)
    (indwell--soon (lambda ()
                     (when (and (eq question indwell--open-question) (active-minibuffer-window))
                       (with-selected-window (active-minibuffer-window)
                         (throw 'exit nil)))))))

(cl-defmethod indwell--handle (connection (_ (eql 'window/showMessageRequest)) params later)
  "Put the question in PARAMS of CONNECTION to the user; answer LATER."
  (let ((titles (mapcar (lambda (it) (plist-get it :title)) (plist-get params :actions))))
    (if (null titles) (prog1 nil (indwell--tell (plist-get params :message)))
      (indwell--add-question
       (make-indwell--question :later later :connection connection
                               :message (plist-get params :message) :titles titles
                               :reply (lambda (at) (and at (list :title (nth at titles))))))
      later)))

(defun indwell--marked (text)
  "Put a mark before each line of TEXT, so that it cannot pass for our own words."
  (mapconcat (lambda (line) (concat "│ " line)) (split-string text "\n") "\n"))

(defun indwell--permission-text (params)
  "Return the whole text of the question for a permission in PARAMS."
  (cl-flet ((of (name) (let ((text (plist-get params name))) (and (stringp text) (not (string-empty-p text)) text))))
    (string-join
     (delq nil
           (list (format "%s (%s)" (plist-get params :title) (plist-get params :reason))
                 (indwell--marked (plist-get params :detail))
                 (and (> (length (plist-get params :risky)) 0)
                      (concat "Because of: " (string-join (plist-get params :risky) ", ")))
                 (and (of :cwd) (not (string-search (of :cwd) (plist-get params :title)))
                      (concat "In the folder " (of :cwd)))
                 (and (of :sandbox) (concat "Commands here: " (of :sandbox)))
                 (and (of :more)
                      (concat (if (eq t (plist-get params :wanted)) "THE MODEL ASKS FOR MORE ACCESS: "
                                "A yes also allows, for this one call: ")
                              (of :more)))
                 (and (of :why) (concat "The reason, in the words of the model:\n" (indwell--marked (of :why))))
                 (and (of :rule) (concat "\nRule for \"This session\" and \"Always\": " (of :rule)))))
     "\n")))

(cl-defmethod indwell--handle (connection (_ (eql 'indwell/permission)) params later)
  "Ask for the permission in PARAMS of CONNECTION; answer LATER."
  (let* ((hunks (append (plist-get params :hunks) nil))
         (answers (append '(("No" . "no") ("Once" . "once"))
                          (unless (string-empty-p (plist-get params :rule))
                            '(("This session" . "session") ("Always" . "always")))
                          (and hunks '(("Each change alone" . hunks)))))
         (question (make-indwell--question :later later :connection connection
                                           :message (indwell--permission-text params)
                                           :titles (mapcar #'car answers))))
    (setf (indwell--question-reply question)
          (lambda (at)
            (let ((answer (if at (cdr (nth at answers)) "no")))
              (if (not (eq 'hunks answer)) (list :answer answer)
                (list :answer "once"
                      :hunks (indwell--allowed-hunks question (plist-get params :title) hunks))))))
    (indwell--add-question question)
    later))

(defun indwell--allowed-hunks (question title hunks)
  "Ask about each of HUNKS of QUESTION under TITLE; return the ids of allowed ones.
Without an answer, that change and the later ones are refused."
  (let ((number 0) (allowed nil) (stop nil))
    (dolist (hunk hunks)
      (setq number (1+ number))
      (unless stop
        (setf (indwell--question-message question)
              (format "%s Change %d of %d, %s\n%s" title number (length hunks)
                      (plist-get hunk :header) (indwell--marked (plist-get hunk :text)))
              (indwell--question-titles question) '("No" "Once"))
        (pcase (indwell--read-word question)
          (1 (push (plist-get hunk :id) allowed))
          ('nil (setq stop t)))))
    (vconcat (nreverse allowed))))

(cl-defmethod indwell--handle (connection (_ (eql 'indwell/ask)) params later)
  "Ask the question in PARAMS of CONNECTION for text or an option; answer LATER."
  (let* ((options (append (plist-get params :options) nil))
         (text (plist-get params :prompt))
         (model (equal (plist-get params :by) "model"))
         (words (make-indwell--question :later later :connection connection
                                        :prompt (concat (and model "The model asks: ") text))))
    (indwell--add-question
     (if (null options) words
       (make-indwell--question
        :later later :connection connection
        :message (concat "The model asks (an answer permits nothing):\n" (indwell--marked text))
        :titles (append options '("Other words" "No answer"))
        :reply (lambda (at)
                 (cond ((null at) (list :text nil))
                       ((< at (length options)) (list :chosen at))
                       ((= at (length options)) (indwell--ask-for-text words) words)
                       (t (list :text nil)))))))
    later))

(cl-defmethod indwell--handle (connection (_ (eql '$/cancelRequest)) params _later)
  "Withdraw the question of CONNECTION that PARAMS name."
  (when-let ((question (seq-find (lambda (it)
                                   (equal (plist-get params :id)
                                          (indwell--later-id (indwell--question-later it))))
                                 (indwell--questions connection))))
    (indwell--withdraw question)))

(defun indwell--ask-for-text (question)
  "Open a buffer for an answer in words to QUESTION."
  (let ((send (lambda (&optional text)
                (indwell--remove-question question)
                (indwell--answer (indwell--question-later question) (list :text text)))))
    (setf (indwell--question-open question)
          (indwell--compose (indwell--question-prompt question) "" send send))
    (unless (memq question (indwell--questions (indwell--question-connection question)))
      (push question (indwell--questions (indwell--question-connection question))))))

;;;; Text of several lines

(defvar-local indwell--compose-then nil "What gets the text that was written.")
(defvar-local indwell--compose-cancelled nil "What is called if the text is not sent.")

(defvar indwell-compose-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'indwell-compose-send)
    (define-key map (kbd "C-c C-k") #'indwell-compose-cancel)
    map)
  "Keys of a buffer for a text of several lines.")

(define-derived-mode indwell-compose-mode text-mode "Indwell-Words"
  "Major mode for a text of several lines to Indwell.
\\{indwell-compose-mode-map}"
  (setq-local header-line-format
              (substitute-command-keys
               "\\<indwell-compose-mode-map>Send: \\[indwell-compose-send]   Cancel: \\[indwell-compose-cancel]"))
  (visual-line-mode))

(defun indwell--compose (prompt text then &optional cancelled)
  "Open a buffer with TEXT, headed by PROMPT; give the text to THEN.
Call CANCELLED if the user sends nothing.  Return the buffer."
  (let ((connection (indwell--current)) (folder default-directory)
        (buffer (generate-new-buffer "*Indwell: your words*")))
    (with-current-buffer buffer
      (indwell-compose-mode)
      (setq indwell--own-connection connection default-directory folder
            indwell--compose-then then indwell--compose-cancelled cancelled)
      (setq-local header-line-format
                  (concat " " (replace-regexp-in-string "%" "%%" (car (split-string prompt "\n")))
                          "   " header-line-format))
      (insert text))
    (select-window (display-buffer buffer '(display-buffer-at-bottom (window-height . 10))))
    buffer))

(defun indwell--compose-end ()
  "Close the buffer of the text and its window."
  (let ((buffer (current-buffer)))
    (when (and (get-buffer-window buffer) (not (one-window-p)))
      (delete-window (get-buffer-window buffer)))
    (kill-buffer buffer)))

(defun indwell-compose-send ()
  "Send the text of this buffer."
  (interactive)
  (let ((text (string-trim (buffer-substring-no-properties (point-min) (point-max))))
        (then indwell--compose-then))
    (if (or (null then) (string-empty-p text)) (message "Write some words first")
      (indwell--compose-end)
      (funcall then text))))

(defun indwell-compose-cancel ()
  "Close this buffer and send nothing."
  (interactive)
  (let ((cancelled indwell--compose-cancelled))
    (indwell--compose-end)
    (when cancelled (funcall cancelled))
    (message "Nothing was sent")))

(defvar indwell--more-lines nil "The text to continue with in a buffer, or nil.")

(defun indwell--more-lines ()
  "Continue the text of the minibuffer in a buffer for several lines."
  (interactive)
  (setq indwell--more-lines (minibuffer-contents-no-properties))
  (exit-minibuffer))

(defvar indwell--words-history nil "Earlier words to Indwell.")

(defun indwell--read-words (prompt then)
  "Read words in the minibuffer with PROMPT, and call THEN with them.
M-RET continues in a buffer for several lines."
  (setq indwell--more-lines nil)
  (let* ((buffer (current-buffer))
         (map (let ((map (make-sparse-keymap)))
                (set-keymap-parent map minibuffer-local-map)
                (define-key map (kbd "M-RET") #'indwell--more-lines)
                map))
         (text (string-trim
                (read-from-minibuffer (format "%s (M-RET: several lines): " prompt)
                                      nil map nil 'indwell--words-history))))
    (with-current-buffer buffer
      (cond (indwell--more-lines (indwell--compose prompt indwell--more-lines then))
            ((string-empty-p text) (message "Nothing was sent: there were no words"))
            (t (funcall then text))))))

(provide 'indwell-questions)
;;; indwell-questions.el ends here
