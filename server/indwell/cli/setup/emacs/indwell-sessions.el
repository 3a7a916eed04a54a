;;; indwell-sessions.el --- Sessions, modes and models of Indwell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; This file is part of the package indwell; see indwell.el.

;;; Commentary:

;; Commands that choose: a session, a turn to go back to, a mode, a model, an
;; effort, a provider; and what becomes of a plan.

;;; Code:

(require 'indwell-chat)
(require 'indwell-connection)

(defun indwell--read-status (connection &optional then)
  "Read the status of CONNECTION again, and call THEN."
  (indwell--request connection :indwell/status
                    (and (indwell--session connection) (list :session (indwell--session connection)))
                    (lambda (status)
                      (setf (indwell--status connection) status)
                      (force-mode-line-update t)
                      (when then (funcall then)))
                    #'ignore))

(defun indwell-stop ()
  "Stop the running turn of the current session."
  (interactive)
  (let ((connection (indwell--current)))
    (if (not (and connection (indwell--running connection))) (message "Indwell does nothing that can be stopped")
      (indwell--execute connection "indwell.cancel"
                        (list :session (or (car (member (indwell--session connection) (indwell--running connection)))
                                           (car (indwell--running connection))))
                        (lambda (_) (message "Indwell has stopped"))))))

(defun indwell--choose (prompt rows)
  "Let the user choose from ROWS, a list of (TEXT . VALUE), with PROMPT.
Return the value."
  (let ((table (lambda (string predicate action)
                 (if (eq action 'metadata)
                     '(metadata (display-sort-function . identity) (cycle-sort-function . identity))
                   (complete-with-action action rows string predicate)))))
    (cdr (assoc (completing-read prompt table nil t) rows))))

(defun indwell-set-mode ()
  "Choose what Indwell may do without a question: its mode."
  (interactive)
  (let* ((connection (indwell--connection)) (status (indwell--call connection :indwell/status nil))
         (about '(("plan" . "reads, and proposes a plan") ("ask" . "asks before each edit")
                  ("review" . "edits, and you review") ("auto" . "edits without review")))
         (mode (indwell--choose (format "Mode (now %s): " (plist-get status :mode))
                                (mapcar (lambda (it) (cons (format "%-8s %s" it (alist-get it about "" nil #'equal)) it))
                                        (plist-get status :modes)))))
    (indwell--execute connection "indwell.mode" (list :mode mode)
                      (lambda (_)
                        (indwell--read-status connection)
                        (message "Indwell: the mode is %s now" mode)))))

(defun indwell-set-model ()
  "Choose the model for the next turns."
  (interactive)
  (let* ((connection (indwell--connection))
         (models (plist-get (indwell--call connection :indwell/models nil 30) :models))
         (model (indwell--choose
                 "Model: "
                 (mapcar (lambda (it)
                           (cons (concat (plist-get it :name)
                                         (when (plist-get it :window) (format " · %dk tokens" (/ (plist-get it :window) 1000)))
                                         (when (plist-get it :input)
                                           (format " · $%s in, $%s out" (plist-get it :input) (plist-get it :output)))
                                         (when (eq t (plist-get it :chosen)) " · now"))
                                 (plist-get it :name)))
                         models))))
    (indwell--call connection :indwell/setModel (list :model model))
    (indwell--read-status connection)
    (message "Indwell: the next turn uses %s" model)))

(defun indwell-set-effort ()
  "Choose how much the model thinks."
  (interactive)
  (let* ((connection (indwell--connection)) (status (indwell--call connection :indwell/status nil))
         (efforts (append (plist-get status :efforts) nil)))
    (if (null efforts) (message "This model is not known to think, so there is nothing to choose")
      (let ((effort (completing-read "Effort (empty: the model decides): " efforts nil t)))
        (indwell--execute connection "indwell.effort" (list :effort effort)
                          (lambda (_) (message "Indwell: the effort is %s now" (if (string-empty-p effort) "the model's choice" effort))))))))

(defun indwell--session-state (connection session)
  "Return the state of SESSION of CONNECTION in a word."
  (cond ((not (member session (indwell--running connection))) nil)
        ((indwell--questions connection) "asks or runs")
        (t "runs")))

;;;###autoload (autoload 'indwell-sessions "indwell" nil t)
(defun indwell-sessions ()
  "Choose a session of this project, newest first, and continue it."
  (interactive)
  (let* ((connection (indwell--connection))
         (rows (plist-get (indwell--call connection :indwell/sessions '(:limit 100)) :sessions)))
    (if (= 0 (length rows)) (message "There are no sessions in this project yet; `M-x indwell-chat' begins one")
      (let ((session
             (indwell--choose
              "Session: "
              (mapcar
               (lambda (it)
                 (cons (string-join
                        (delq nil
                              (list (truncate-string-to-width (plist-get it :title) 60 nil nil "…")
                                    (format "%d turns" (plist-get it :turns))
                                    (replace-regexp-in-string "T\\(..:..\\).*" " \\1" (plist-get it :at))
                                    (indwell--session-state connection (plist-get it :id))
                                    (and (equal (plist-get it :id) (indwell--session connection)) "shown")
                                    (and (> (length (plist-get it :notices)) 0) "damaged")
                                    (substring (plist-get it :id) (max 0 (- (length (plist-get it :id)) 4)))))
                        " · ")
                       (plist-get it :id)))
               rows))))
        (indwell--resume connection session)))))

(defun indwell--resume (connection session)
  "Continue SESSION of CONNECTION, and show it in the chat."
  (indwell--execute connection "indwell.resume" (list :session session :wait t :quiet t :keep t)
                    (lambda (result)
                      (indwell--show-resumed connection result))))

(defun indwell--show-resumed (connection result)
  "Show the session of RESULT of CONNECTION in the chat, with its draft."
  (let ((buffer (indwell-chat--buffer connection)))
    (indwell-chat--load connection (plist-get result :session))
    (indwell--soon
     (lambda ()
       (with-current-buffer buffer
         (unless (string-empty-p (or (plist-get result :draft) ""))
           (indwell-chat--give-back (plist-get result :draft))))
       (indwell-chat--display connection)
       (seq-do #'indwell--tell (plist-get result :notices))))
    (indwell--read-status connection)))

(defun indwell-rewind ()
  "Go back to before a turn of the current session, with its files if you want."
  (interactive)
  (let* ((connection (indwell--connection)) (session (indwell--session connection)))
    (if (null session) (message "No session is shown; `M-x indwell-sessions' continues one")
      (let* ((turns (seq-remove (lambda (it) (eq t (plist-get it :left)))
                                (plist-get (indwell--call connection :indwell/session (list :session session :limit 50)) :turns)))
             (turn (indwell--choose
                    "Go back to before: "
                    (mapcar (lambda (it)
                              (let ((began (seq-find (lambda (event) (equal "turnStarted" (plist-get event :type)))
                                                     (plist-get it :events))))
                                (cons (format "turn %d: %s" (plist-get it :turn)
                                              (truncate-string-to-width (or (plist-get began :title) "") 60 nil nil "…"))
                                      (plist-get it :turn))))
                            (reverse turns))))
             (files (y-or-n-p "Restore the files, too? ")))
        (indwell--execute connection "indwell.rewind"
                          (list :turn (1- turn) :session session :files (if files t :json-false) :wait t)
                          (lambda (result)
                            (indwell--show-resumed connection result)
                            (message "Indwell: back to before turn %d; your words are in the chat" turn)))))))

(defun indwell-trust ()
  "Decide whether Indwell may trust this folder's settings and instructions."
  (interactive)
  (indwell--execute (indwell--connection) "indwell.trust" '(:wait t)
                    (lambda (trusted)
                      (message (if (eq t trusted) "Indwell trusts this folder"
                                 "Indwell does not trust this folder: it reads and edits, but runs nothing of it")))))

(defun indwell-approve-plan ()
  "Carry out the plan that Indwell has proposed."
  (interactive)
  (indwell--execute (indwell--connection) "indwell.plan" '(:action "approve" :wait t)))

(defun indwell-reject-plan ()
  "Drop the plan that Indwell has proposed; your words ask for another one."
  (interactive)
  (let* ((connection (indwell--connection)) (words (read-string "What is wrong with the plan (empty: drop it): ")))
    (indwell--execute connection "indwell.plan"
                      (append '(:action "reject" :wait t)
                              (unless (string-empty-p words) (list :words words))))))

(defun indwell-edit-plan ()
  "Open the plan that Indwell has proposed, to edit it."
  (interactive)
  (indwell--execute (indwell--connection) "indwell.plan" '(:action "open" :wait t)))

(defun indwell-login ()
  "Connect a provider of models: choose it, and give its key."
  (interactive)
  (let* ((connection (indwell--connection))
         (known (indwell--call connection :indwell/providers nil 30))
         (provider (indwell--choose
                    "Provider: "
                    (append (mapcar (lambda (it) (cons (concat (plist-get it :title) " · on this machine") it))
                                    (plist-get known :local))
                            (mapcar (lambda (it) (cons (plist-get it :title) it)) (plist-get known :known)))))
         (local (seq-contains-p (plist-get known :local) provider))
         (key (unless local (read-passwd (format "Key (from %s): " (or (plist-get provider :page) "the provider"))))))
    (indwell--log-in connection (append (list :provider (plist-get provider :name))
                                        (and key (not (string-empty-p key)) (list :key key))))))

(defun indwell--log-in (connection argument)
  "Test the provider of ARGUMENT at CONNECTION; ask for a model if it has several."
  (message "Indwell tests the connection…")
  (let* ((result (indwell--call connection :indwell/login argument 120))
         (models (append (plist-get result :models) nil)))
    (if (and models (not (eq t (plist-get result :ok))))
        (indwell--log-in connection
                         (append (list :model (completing-read "Model: " models nil t)) argument))
      (indwell--read-status connection)
      (message "Indwell: %s" (plist-get result :message)))))

(provide 'indwell-sessions)
;;; indwell-sessions.el ends here
