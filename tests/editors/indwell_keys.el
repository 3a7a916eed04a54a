;;; indwell_keys.el --- tells a test what a user of indwell.el sees  -*- lexical-binding: t; -*-
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil)
(require 'json)
(defun keys-tell ()
  "Write what the user sees now; a rename makes the file whole at any time."
  (let* ((connection (car (bound-and-true-p indwell--connections)))
         (chat (and connection (indwell--chat connection)))
         (path (getenv "INDWELL_REPORT")) (coding-system-for-write 'utf-8-unix)
         (code (get-file-buffer (getenv "INDWELL_PATH"))))
    (progn
      (with-temp-file (concat path ".new")
        (insert
         (json-serialize
          (list :buffer (buffer-name (window-buffer)) :session (and connection (indwell--session connection))
                :running (if connection (length (indwell--running connection)) 0) :pending (if connection (indwell--pending connection) 0)
                :mode (plist-get (and connection (indwell--status connection)) :mode)
                :model (plist-get (and connection (indwell--status connection)) :model)
                :asks (if connection (length (indwell--questions connection)) 0)
                :segment (format "%s" (substring-no-properties (or (and connection (with-current-buffer (window-buffer) (indwell--mode-line))) "")))
                :minibuffer (if (active-minibuffer-window) (with-current-buffer (window-buffer (active-minibuffer-window)) (buffer-string)) "")
                :message (or (current-message) "")
                :text (if code (with-current-buffer code (buffer-substring-no-properties (point-min) (point-max))) "")
                :old (if code (with-current-buffer code
                                (mapconcat (lambda (it) (or (overlay-get it 'before-string) ""))
                                           (seq-filter (lambda (it) (overlay-get it 'indwell-change))
                                                       (overlays-in (point-min) (point-max)))
                                           ""))
                       "")
                :chat (if (buffer-live-p chat) (with-current-buffer chat (buffer-substring-no-properties (point-min) (point-max))) ""))
          :null-object nil)))
      (rename-file (concat path ".new") path t))))
(run-with-timer 0.1 0.1 #'keys-tell)
(setq indwell-question-pause 0.5)
(find-file (getenv "INDWELL_PATH"))
;;; indwell_keys.el ends here
