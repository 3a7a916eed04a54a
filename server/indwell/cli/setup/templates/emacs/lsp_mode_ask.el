(defun indwell-question (workspace params reply)
  "Put the question of PARAMS when you have typed nothing for a second, and give REPLY what you chose."
  (if (or (active-minibuffer-window) (< (float-time (or (current-idle-time) 0)) 1))
      (run-at-time 0.1 nil #'indwell-question workspace params reply)
    (let ((title (indwell-ask (lsp-get params :message)
                              (mapcar (lambda (it) (lsp-get it :title)) (lsp-get params :actions)))))
      (funcall reply (and title (list :title title))))))
