;;; indwell-chat.el --- The chat of Indwell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; This file is part of the package indwell; see indwell.el.

;;; Commentary:

;; One buffer for each project shows the current session: your words, the answer
;; as it streams, and each tool as one line that TAB opens.  Below the last line
;; you write your next words; C-c C-c sends them, also while a turn runs.

;;; Code:

(require 'indwell-connection)
(require 'indwell-questions)

(defface indwell-user '((t :inherit (bold font-lock-keyword-face)))
  "Face of the heading of the user's words."
  :group 'indwell)
(defface indwell-tool '((t :inherit shadow))
  "Face of the line of a tool."
  :group 'indwell)
(defface indwell-failure '((t :inherit error))
  "Face of what failed, and of questions."
  :group 'indwell)
(defface indwell-end '((t :inherit (shadow italic)))
  "Face of the line at the end of a turn."
  :group 'indwell)

(defvar-local indwell-chat--end nil "Where the transcript ends and the field for words begins.")
(defvar-local indwell-chat--input nil "Where the user's words begin.")
(defvar-local indwell-chat--round nil "Where the text of the present reply begins.")
(defvar-local indwell-chat--tools nil "The lines of tools by the id of their call.")
(defvar-local indwell-chat--session nil "The session that the buffer shows.")
(defvar-local indwell-chat--thought nil "The overlay of the thought that grows.")
(defvar-local indwell-chat--waiting "" "Words about prompts that wait.")
(defvar-local indwell-chat--skills nil "The names of skills that can be called with a slash.")

(defvar indwell-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c RET") #'indwell-chat-send)
    (define-key map (kbd "C-c C-c") #'indwell-chat-send)
    (define-key map (kbd "C-c C-w") #'indwell-chat-send-next)
    (define-key map (kbd "C-c C-k") #'indwell-stop)
    (define-key map (kbd "C-c C-n") #'indwell-chat-next-turn)
    (define-key map (kbd "C-c C-p") #'indwell-chat-previous-turn)
    (define-key map (kbd "TAB") #'indwell-chat-tab)
    map)
  "Keys of the chat.")

(defvar indwell-chat--font-lock
  '(("^#+ .*$" 0 'bold t)
    ("^ *```.*$" 0 'shadow t)
    ("\\(?:^\\|[^`]\\)\\(`[^`\n]+`\\)" 1 'font-lock-constant-face prepend)
    ("\\*\\*[^*\n]+\\*\\*" 0 'bold prepend))
  "How the Markdown of an answer is shown.")

(declare-function indwell-stop "indwell-sessions")

(define-derived-mode indwell-chat-mode text-mode "Indwell"
  "Major mode for the chat of Indwell.
Write below the last line and send with \\<indwell-chat-mode-map>\\[indwell-chat-send].
While a turn runs, the words go to that turn; \\[indwell-chat-send-next]
lets them wait until the turn has ended.
\\{indwell-chat-mode-map}"
  (setq-local font-lock-defaults '(indwell-chat--font-lock t)
              scroll-conservatively 101
              indwell-chat--tools (make-hash-table :test #'equal)
              header-line-format '(:eval (indwell-chat--header)))
  (add-to-invisibility-spec 'indwell-fold)
  (add-hook 'completion-at-point-functions #'indwell-chat--complete nil t)
  (visual-line-mode)
  (indwell-chat--clear))

(defun indwell-chat--header ()
  "Return the words above the chat."
  (let* ((connection indwell--own-connection) (status (indwell--status connection)))
    (if (not (jsonrpc-running-p connection)) " The server has ended; your next words start it again"
      (replace-regexp-in-string
       "%" "%%"
       (concat
        " "
        (if (member indwell-chat--session (indwell--running connection))
            (substitute-command-keys
             "\\<indwell-chat-mode-map>works (\\[indwell-stop] stops, \\[indwell-chat-send] steers)")
          (or (plist-get status :mode) "ready"))
        indwell-chat--waiting " · "
        (string-join (seq-remove #'string-empty-p (list (or (plist-get status :model) "")
                                                        (or (plist-get status :title) "")))
                     " · "))))))

;;;; Text

(defun indwell-chat--clear ()
  "Make the chat empty, but keep the words that are not sent."
  (let ((words (if indwell-chat--input (indwell-chat--words) "")) (inhibit-read-only t))
    (remove-overlays)
    (erase-buffer)
    (clrhash indwell-chat--tools)
    (insert (propertize "Write below; C-c C-c sends. @file attaches a file, TAB opens a line.\n"
                        'font-lock-face 'shadow))
    (setq indwell-chat--end (copy-marker (point) t)
          indwell-chat--round (copy-marker (point))
          indwell-chat--thought nil)
    (set-marker-insertion-type indwell-chat--end nil)
    (insert (propertize "\n" 'font-lock-face 'shadow)
            (propertize "› " 'font-lock-face 'indwell-user))
    (add-text-properties (point-min) (point)
                         '(read-only t front-sticky (read-only) rear-nonsticky t field indwell))
    (setq indwell-chat--input (copy-marker (point)))
    (insert words)
    (setq buffer-undo-list nil)))

(defun indwell-chat--words ()
  "Return what the user has written and not sent."
  (buffer-substring-no-properties indwell-chat--input (point-max)))

(defun indwell-chat--insert (text &optional face more)
  "Insert TEXT at the end of the transcript with FACE and the properties MORE."
  (unless (string-empty-p text)
    (let ((inhibit-read-only t) (buffer-undo-list t) (start (marker-position indwell-chat--end)))
      (save-excursion
        (goto-char start)
        (insert (apply #'propertize text (append (and face (list 'font-lock-face face)) more)))
        (add-text-properties start (point) '(read-only t front-sticky (read-only) rear-nonsticky t))
        (set-marker indwell-chat--end (point))))
    (setq buffer-undo-list nil)))

(defun indwell-chat--fresh-line ()
  "End the last line of the transcript."
  (unless (eq ?\n (char-before indwell-chat--end)) (indwell-chat--insert "\n")))

(defun indwell-chat--fold (head face)
  "Insert the line HEAD with FACE above an empty fold; return the fold."
  (indwell-chat--fresh-line)
  (let ((start (marker-position indwell-chat--end)))
    (indwell-chat--insert (concat head "\n") face)
    (let ((fold (make-overlay indwell-chat--end indwell-chat--end)))
      (overlay-put fold 'invisible 'indwell-fold)
      (overlay-put fold 'indwell-head (copy-marker start))
      fold)))

(defun indwell-chat--fill (fold text &optional face)
  "Add TEXT with FACE to the end of FOLD."
  (let ((inhibit-read-only t) (buffer-undo-list t)
        (start (overlay-start fold)) (end (overlay-end fold))
        (at-end (= (overlay-end fold) indwell-chat--end))
        (before-round (<= (overlay-end fold) indwell-chat--round)))
    (save-excursion
      (goto-char end)
      (insert (propertize text 'font-lock-face (or face 'shadow) 'read-only t
                          'front-sticky '(read-only) 'rear-nonsticky t))
      (move-overlay fold start (point))
      (when at-end (set-marker indwell-chat--end (point)))
      (when (and before-round (< indwell-chat--round (point)))
        (set-marker indwell-chat--round (point))))
    (setq buffer-undo-list nil)))

(defun indwell-chat--rehead (fold head face)
  "Replace the line above FOLD by HEAD with FACE."
  (let ((inhibit-read-only t) (buffer-undo-list t)
        (start (marker-position (overlay-get fold 'indwell-head))))
    (save-excursion
      (goto-char start)
      (let ((old (line-end-position)))
        ;; The new text comes first, so that no marker at the end of the line moves before it.
        (goto-char old)
        (insert (propertize head 'font-lock-face face 'read-only t
                            'front-sticky '(read-only) 'rear-nonsticky t))
        (delete-region start old)))
    (setq buffer-undo-list nil)))

(defun indwell-chat-tab ()
  "Open or close the fold of this line; complete where you write."
  (interactive)
  (if (>= (point) indwell-chat--input) (completion-at-point)
    (let ((fold (seq-find (lambda (it)
                            (let ((head (overlay-get it 'indwell-head)))
                              (and head (or (= head (line-beginning-position))
                                            (and (<= (overlay-start it) (point))
                                                 (< (point) (overlay-end it)))))))
                          ;; A fold begins behind the end of its line.
                          (overlays-in (line-beginning-position)
                                       (min (point-max) (+ 2 (line-end-position)))))))
      (if (or (null fold) (= (overlay-start fold) (overlay-end fold)))
          (message "Nothing is folded here")
        (overlay-put fold 'invisible (unless (overlay-get fold 'invisible) 'indwell-fold))))))

(defun indwell-chat-next-turn (&optional back)
  "Go to the next turn, or with BACK to the previous one."
  (interactive)
  (let ((place (point)))
    (if back (beginning-of-line) (end-of-line))
    (if (if back (re-search-backward "^▌ " nil t) (re-search-forward "^▌ " nil t))
        (beginning-of-line)
      (goto-char (if back place (point-max))))))

(defun indwell-chat-previous-turn ()
  "Go to the previous turn."
  (interactive)
  (indwell-chat-next-turn t))

;;;; Events

(defun indwell-chat--one-line (text)
  "Return the first line of TEXT, shortened."
  (truncate-string-to-width (car (split-string (string-trim (or text "")) "\n")) 100 nil nil "…"))

(defun indwell-chat--new-round ()
  "Note that the next text is a new piece."
  (setq indwell-chat--thought nil)
  (set-marker indwell-chat--round indwell-chat--end))

(defun indwell-chat--show (event)
  "Show EVENT in the chat."
  (let ((id (plist-get event :id)))
    (pcase (plist-get event :type)
      ("turnStarted"
       (indwell-chat--fresh-line)
       (indwell-chat--insert (format "\n▌ You · turn %s · %s" (plist-get event :turn)
                                     (string-join (delq nil (list (plist-get event :mode)
                                                                  (plist-get event :model)))
                                                  " · "))
                             'indwell-user)
       (indwell-chat--insert (concat "\n" (string-trim (plist-get event :words)) "\n") 'bold)
       (when-let ((attached (append (plist-get event :attached) nil)))
         (indwell-chat--insert (format "with %s\n" (string-join attached ", ")) 'shadow))
       (indwell-chat--insert "\n")
       (indwell-chat--new-round))
      ("text"
       (setq indwell-chat--thought nil)
       (when (eq t (plist-get event :restart))
         (let ((inhibit-read-only t) (buffer-undo-list t))
           (delete-region indwell-chat--round indwell-chat--end)))
       (when (and (= indwell-chat--round indwell-chat--end)
                  (/= ?\n (char-before indwell-chat--end)))
         (indwell-chat--insert "\n"))
       (indwell-chat--insert (plist-get event :text)))
      ("thinking"
       (unless indwell-chat--thought
         (setq indwell-chat--thought (indwell-chat--fold "· thought (TAB opens)" 'indwell-tool))
         (set-marker indwell-chat--round indwell-chat--end))
       (indwell-chat--fill indwell-chat--thought (plist-get event :text)))
      ("toolStarted"
       (when (and id (not (gethash id indwell-chat--tools)))
         (let ((fold (indwell-chat--fold (concat "… " (indwell-chat--tool event)) 'indwell-tool)))
           (puthash id fold indwell-chat--tools)
           (indwell-chat--new-round))))
      ("toolOutput"
       (when-let ((fold (gethash id indwell-chat--tools)))
         (indwell-chat--fill fold (plist-get event :text))))
      ("editApplied"
       (when-let ((fold (gethash id indwell-chat--tools)))
         (indwell-chat--fill-diff fold (plist-get event :diff))))
      ("toolFinished"
       (when-let ((fold (gethash id indwell-chat--tools)))
         (indwell-chat--tool-finished fold event)))
      ("permissionAsked"
       (indwell-chat--line (concat "? " (plist-get event :title) " (" (indwell-chat--one-line (plist-get event :detail)) ")")
                           'indwell-failure))
      ("permissionAnswered" (indwell-chat--line (concat "  answered: " (plist-get event :answer)) 'shadow))
      ("questionAsked" (indwell-chat--line (concat "? " (plist-get event :question)) 'indwell-failure))
      ("questionAnswered"
       (indwell-chat--line (concat "  answered: " (plist-get event :answer)) 'shadow))
      ("steered"
       (indwell-chat--line (concat "▌ You, to this turn: " (plist-get event :text)) 'indwell-user))
      ("notice"
       (indwell-chat--line (concat "! " (plist-get event :message))
                           (if (equal (plist-get event :level) "info") 'shadow 'indwell-failure)))
      ("compacted"
       (indwell-chat--line (format "· earlier parts were shortened: %s → %s tokens"
                                   (plist-get event :before) (plist-get event :after))
                           'shadow))
      ("checking" (indwell-chat--line (concat "· checks with " (plist-get event :what)) 'shadow))
      ("todoChanged"
       (indwell-chat--line
        (mapconcat (lambda (it) (concat (pcase (plist-get it :state) ("done" "  ✓ ") ("doing" "  ▸ ") (_ "  · "))
                                        (plist-get it :text)))
                   (plist-get event :items) "\n")
        'indwell-tool))
      ("planChanged"
       (when (equal (plist-get event :state) "proposed")
         (indwell-chat--line (plist-get event :text))
         (indwell-chat--line "Plan ready: M-x indwell-approve-plan carries it out, M-x indwell-reject-plan drops it."
                             'indwell-user)))
      ("queueChanged"
       (let ((number (length (plist-get event :waiting))))
         (setq indwell-chat--waiting
               (concat (if (= 0 number) "" (format " · %d waiting" number))
                       (if (string-empty-p (or (plist-get event :held) "")) ""
                         (concat " (held: " (plist-get event :held) ")"))))))
      ("turnFinished" (indwell-chat--turn-finished event))
      ("serverEnded" (indwell-chat--line "! The server has ended. Your next words start it again." 'indwell-failure)))))

(defun indwell-chat--line (text &optional face)
  "Insert TEXT with FACE as a line of its own."
  (indwell-chat--fresh-line)
  (indwell-chat--insert (concat text "\n") face)
  (indwell-chat--new-round))

(defun indwell-chat--tool (event)
  "Return the name and the target of the tool of EVENT."
  (concat (unless (string-empty-p (or (plist-get event :agent) "")) "  ")
          (plist-get event :name) " " (indwell-chat--one-line (plist-get event :target))))

(defun indwell-chat--tool-finished (fold event)
  "Write into the line above FOLD how the tool of EVENT ended."
  (let* ((failed (eq t (plist-get event :isError)))
         (seconds (plist-get event :seconds))
         (message (plist-get event :message))
         (result (plist-get event :result)))
    (when (and result (= (overlay-start fold) (overlay-end fold)))
      (indwell-chat--fill fold (concat (string-trim-right result) "\n")))
    (when (and failed message (string-match-p "\n" (string-trim message)))
      (indwell-chat--fill fold (concat (string-trim message) "\n")))
    (indwell-chat--rehead
     fold
     (concat (if failed "✗ " "✓ ") (indwell-chat--tool event)
             (unless (string-empty-p (or (plist-get event :figure) ""))
               (concat " · " (plist-get event :figure)))
             (when (and seconds (>= seconds 1)) (format " · %.0f s" seconds))
             (unless (string-empty-p (or message "")) (concat " · " (indwell-chat--one-line message)))
             (when (< (overlay-start fold) (overlay-end fold)) " ▸"))
     (if failed 'indwell-failure 'indwell-tool))))

(defun indwell-chat--fill-diff (fold diff)
  "Add DIFF with its colours to FOLD."
  (dolist (line (split-string (string-trim-right diff "\n") "\n"))
    (indwell-chat--fill fold (concat line "\n")
                        (cond ((string-prefix-p "+" line) 'diff-added)
                              ((string-prefix-p "-" line) 'diff-removed)
                              (t 'shadow)))))

(defun indwell-chat--ending (event)
  "Say in a line how the turn of EVENT ended, and what it changed."
  (let ((ending (plist-get event :ending)) (message (plist-get event :message)))
    (string-join
     (append (list (pcase ending
                     ("limit" "stopped at the limit of rounds")
                     ("repeated" "stopped because the model repeats itself")
                     ("budget" "stopped at the budget")
                     ("cancelled" "stopped")
                     (_ ending)))
             (unless (or (member ending '("done" "cancelled")) (string-empty-p (or message "")))
               (list (indwell-chat--one-line message)))
             (mapcar (lambda (it) (format "%s +%s −%s" (plist-get it :path) (plist-get it :added)
                                          (plist-get it :removed)))
                     (plist-get event :changes)))
     " · ")))

(defun indwell-chat--turn-finished (event)
  "Write the line at the end of the turn of EVENT; give back unsent words."
  (let* ((message (or (plist-get event :message) ""))
         (done (equal (plist-get event :ending) "done"))
         (draft (string-trim (or (plist-get event :draft) "")))
         (cost (plist-get event :cost)) (seconds (plist-get event :seconds)))
    (unless (or (string-empty-p message)
                (and (not done) (equal message (indwell-chat--one-line message))))
      (indwell-chat--line message (unless done 'indwell-failure)))
    (indwell-chat--line
     (string-join
      (delq nil (list (concat "── " (indwell-chat--ending event))
                      (when seconds (format "%.1f s" seconds))
                      (when (numberp cost) (format "$%.4f" cost))
                      (unless (string-empty-p (or (plist-get event :verified) ""))
                        (plist-get event :verified))))
      " · ")
     (if (or done (equal (plist-get event :ending) "cancelled")) 'indwell-end 'indwell-failure))
    (when (eq t (plist-get event :retryable))
      (indwell-chat--line "Send the same words again to try once more." 'shadow))
    (unless (string-empty-p draft) (indwell-chat--give-back draft))))

(defun indwell-chat--give-back (words)
  "Put WORDS that never reached the model back where the user writes."
  (save-excursion
    (goto-char indwell-chat--input)
    (unless (string-prefix-p words (indwell-chat--words))
      (insert words (if (string-empty-p (indwell-chat--words)) "" "\n")))))

(defun indwell-chat--event (connection session event)
  "Show EVENT of SESSION of CONNECTION in its chat, if the chat shows that session."
  (let ((buffer (indwell--chat connection)) (type (plist-get event :type)))
    (when (equal type "turnStarted")
      (unless (and (indwell--session connection)
                   (member (indwell--session connection) (cdr (indwell--running connection))))
        (setf (indwell--session connection) session)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (unless (equal indwell-chat--session (indwell--session connection))
          (unless (null indwell-chat--session) (indwell-chat--clear))
          (setq indwell-chat--session (indwell--session connection)))
        (when (or (equal session indwell-chat--session) (member type '("queueChanged" "serverEnded")))
          (let ((follow (>= (point) indwell-chat--input)))
            (indwell-chat--show event)
            (when follow (indwell-chat--follow))))))))

(add-hook 'indwell-event-functions #'indwell-chat--event)

(defun indwell-chat--follow ()
  "Keep the end of the chat in its windows where the user has not scrolled back."
  (dolist (window (get-buffer-window-list nil nil t))
    (when (< (window-point window) indwell-chat--input)
      (unless (eq window (selected-window)) (set-window-point window (point-max))))))

;;;; The buffer

(defun indwell-chat--buffer (connection)
  "Return the chat of CONNECTION; make it for the current session if missing."
  (let ((buffer (indwell--chat connection)))
    (unless (buffer-live-p buffer)
      (setq buffer (get-buffer-create
                    (format "*Indwell: %s*" (file-name-nondirectory
                                             (directory-file-name (indwell--root-of connection))))))
      (with-current-buffer buffer
        (unless (derived-mode-p 'indwell-chat-mode) (indwell-chat-mode))
        (setq default-directory (indwell--root-of connection)
              indwell--own-connection connection
              indwell-chat--session (indwell--session connection)))
      (setf (indwell--chat connection) buffer)
      (if (indwell--session connection)
          (indwell-chat--load connection (indwell--session connection))
        (with-current-buffer buffer (indwell-chat--clear))))
    buffer))

(defun indwell-chat--load (connection session)
  "Show the turns of SESSION of CONNECTION in the chat."
  (setf (indwell--session connection) session)
  (indwell--request
   connection :indwell/session (and session (list :session session))
   (lambda (result)
     (with-current-buffer (indwell--chat connection)
       (indwell-chat--clear)
       (setq indwell-chat--session session)
       (seq-do (lambda (turn)
                 (unless (eq t (plist-get turn :left))
                   (seq-do #'indwell-chat--show (plist-get turn :events))))
               (plist-get result :turns))
       (indwell-chat--follow)))))

;;;###autoload (autoload 'indwell-chat "indwell" nil t)
(defun indwell-chat ()
  "Show the chat of the project, and go to the place where you write."
  (interactive)
  (let ((buffer (indwell-chat--buffer (indwell--connection))))
    (pop-to-buffer buffer '((display-buffer-reuse-window display-buffer-in-direction)
                            (direction . right)))
    (goto-char (point-max))))

(defun indwell-chat--display (connection)
  "Show the chat of CONNECTION without going there."
  (let* ((buffer (indwell-chat--buffer connection))
         (window (display-buffer buffer '((display-buffer-reuse-window display-buffer-in-direction)
                                          (direction . right) (inhibit-same-window . t)))))
    (when window (set-window-point window (with-current-buffer buffer (point-max))))))

;;;; Sending

(defun indwell-chat--mentions (connection text)
  "Return the files that TEXT mentions with an @, in the folder of CONNECTION."
  (let ((root (indwell--root-of connection)) (start 0) found)
    (while (string-match "\\(?:\\`\\|[[:space:](]\\)@\\(?:\"\\([^\"\n]+\\)\"\\|\\([^[:space:]\"]+\\)\\)" text start)
      (setq start (match-end 0))
      (let* ((name (string-trim-right (or (match-string 1 text) (match-string 2 text)) "[.,;:!?)]+"))
             (path (replace-regexp-in-string "#L[0-9-]+\\'" "" name)))
        (when (and (not (string-empty-p path)) (file-exists-p (expand-file-name path root)))
          (cl-pushnew name found :test #'equal))))
    (vconcat (nreverse found))))

(defun indwell--prompt (connection text &optional mentions attachments session)
  "Send TEXT to SESSION, or to the current session of CONNECTION, as a new prompt.
MENTIONS and ATTACHMENTS are vectors for the server."
  (let ((all (vconcat mentions (indwell-chat--mentions connection text)))
        (session (or session (indwell--session connection))))
    (indwell--request
     connection :indwell/prompt
     (append (list :text text)
             (and session (list :session session))
             (and (> (length all) 0) (list :mentions all))
             (and attachments (list :attachments attachments)))
     #'ignore
     (lambda (problem)
       (let ((message (plist-get problem :message)) (draft (plist-get (plist-get problem :data) :draft)))
         (with-current-buffer (indwell-chat--buffer connection)
           (unless (= -32800 (plist-get problem :code))
             (indwell-chat--line (concat "! " message) 'indwell-failure)
             (indwell--tell message))
           (when draft (indwell-chat--give-back draft))))))))

(defun indwell-chat-send (&optional next)
  "Send the words that you wrote below the last line of the chat.
While a turn runs, the words steer that turn; with NEXT they wait for its end."
  (interactive "P")
  (let* ((connection (indwell--connection)) (words (string-trim (indwell-chat--words)))
         (session (indwell--session connection))
         (runs (member session (indwell--running connection))))
    (if (string-empty-p words) (message "Write some words below the last line first")
      (delete-region indwell-chat--input (point-max))
      (setq indwell--words-history (cons words (delete words indwell--words-history)))
      (pcase words
        ("/new" (indwell-new-session))
        ("/stop" (indwell-stop))
        ((guard (and runs (not next)))
         (indwell--steer connection words session))
        (_ (indwell--prompt connection words))))))

(defun indwell--steer (connection words session)
  "Give WORDS to the running turn of SESSION of CONNECTION."
  (indwell--request connection :indwell/steer (list :text words :session session)
                    (lambda (_) (message "Indwell gets your words at its next step"))
                    (lambda (problem)
                      (with-current-buffer (indwell-chat--buffer connection)
                        (indwell-chat--give-back words))
                      (indwell--tell (plist-get problem :message)))))

(defun indwell-chat-send-next ()
  "Send the words of the chat; they wait until the running turn has ended."
  (interactive)
  (indwell-chat-send t))

(defun indwell-new-session ()
  "Begin a new session with your next words; the earlier one stays in the list."
  (interactive)
  (let ((connection (indwell--connection)))
    (indwell--execute connection "indwell.newSession" '(:keep t)
                      (lambda (_)
                        (setf (indwell--session connection) nil)
                        (when (buffer-live-p (indwell--chat connection))
                          (with-current-buffer (indwell--chat connection)
                            (setq indwell-chat--session nil)
                            (indwell-chat--clear)))
                        (message "Your next words begin a new session")))))

(defun indwell-chat--complete ()
  "Complete @files and /skills where the user writes."
  (when (>= (point) indwell-chat--input)
    (let ((end (point)) (root default-directory)
          (start (save-excursion (skip-chars-backward "^[:space:]" indwell-chat--input) (point))))
      (pcase (char-after start)
        (?@ (let ((files (ignore-errors (project-files (project-current nil root)))))
              (list (1+ start) end
                    (if files (mapcar (lambda (it) (file-relative-name it root)) files)
                      #'completion-file-name-table)
                    :exclusive 'no)))
        (?/ (when (= start indwell-chat--input)
              (unless indwell-chat--skills
                (setq indwell-chat--skills
                      (append '("new" "stop" "compact" "continue")
                              (mapcar (lambda (it) (plist-get it :name))
                                      (plist-get (indwell--call (indwell--connection) :indwell/skills nil 3)
                                                 :skills)))))
              (list (1+ start) end indwell-chat--skills :exclusive 'no)))))))

(provide 'indwell-chat)
;;; indwell-chat.el ends here
