(defvar indwell-last-key 0 "When you last pressed a key.")
(defun indwell-note-key () "Note that you press a key." (setq indwell-last-key (current-time)))
(add-hook 'pre-command-hook #'indwell-note-key)
(defun indwell-idle ()
  "Seconds without a key; after a question that a timer asked, Emacs knows no idle time until the next key."
  (let ((since (float-time (time-since indwell-last-key))) (idle (current-idle-time)))
    (if idle (min since (float-time idle)) since)))
(defun indwell-question (workspace params reply)
  "Put the question of PARAMS when you have typed nothing for a second, and give REPLY what you chose."
  (if (or (active-minibuffer-window) (input-pending-p) (< (indwell-idle) 1))
      (run-at-time 0.1 nil #'indwell-question workspace params reply)
    (let ((title (indwell-ask (lsp-get params :message)
                              (mapcar (lambda (it) (lsp-get it :title)) (lsp-get params :actions)))))
      (funcall reply (and title (list :title title))))))
