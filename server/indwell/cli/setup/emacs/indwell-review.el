;;; indwell-review.el --- Review of the changes of Indwell in place  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; This file is part of the package indwell; see indwell.el.

;;; Commentary:

;; Each pending change is shown in its buffer: the new lines are highlighted, and
;; the old lines are above them.  Accept and reject work on the change at point,
;; on the changes of the region, on a file, or on all.

;;; Code:

(require 'diff-mode)
(require 'indwell-connection)

(defface indwell-new-lines
  '((t :inherit diff-added :extend t))
  "Face of lines that Indwell added and that wait for review."
  :group 'indwell)

(defface indwell-old-lines
  '((t :inherit diff-removed :extend t))
  "Face of lines that Indwell removed, shown above the new ones."
  :group 'indwell)

(defun indwell--refresh-changes (connection &optional then)
  "Ask CONNECTION for all pending changes, show them, and call THEN."
  (indwell--request connection :indwell/changes nil
                    (lambda (result)
                      (setf (indwell--changes connection) (append (plist-get result :changes) nil)
                            (indwell--pending connection) (plist-get result :pending))
                      (indwell--show-changes connection)
                      (force-mode-line-update t)
                      (when then (funcall then)))
                    #'ignore))

(defun indwell--show-changes (connection)
  "Show the pending changes of CONNECTION in the buffers of their files."
  (maphash (lambda (uri buffer)
             (when (buffer-live-p buffer)
               (with-current-buffer buffer
                 (save-restriction
                   (widen)
                   (remove-overlays (point-min) (point-max) 'indwell t)
                   (dolist (change (indwell--changes connection))
                     (when (equal uri (plist-get change :uri))
                       (indwell--show-change change (indwell--encoding connection))))))))
           (indwell--documents connection)))

(defun indwell--show-change (change encoding)
  "Show CHANGE, whose columns are in ENCODING, in the buffer."
  (let* ((range (plist-get change :range))
         (start (indwell--point (plist-get range :start) encoding))
         (end (if (string-empty-p (plist-get change :new)) start
                (indwell--point (plist-get range :end) encoding)))
         (overlay (make-overlay start end))
         (old (plist-get change :old)))
    (overlay-put overlay 'indwell t)
    (overlay-put overlay 'indwell-change change)
    (overlay-put overlay 'help-echo
                 (format "Turn %s of Indwell: C-c C-y accepts, C-c C-x rejects" (plist-get change :turn)))
    (when (< start end) (overlay-put overlay 'face 'indwell-new-lines))
    (unless (string-empty-p old)
      (overlay-put overlay 'before-string
                   (propertize (if (string-suffix-p "\n" old) old (concat old "\n"))
                               'face 'indwell-old-lines)))))

(defun indwell--changes-here (start end)
  "Return the pending changes of the buffer between START and END."
  (save-restriction
    (widen)
    (delq nil (mapcar (lambda (it) (overlay-get it 'indwell-change))
                      (seq-uniq (append (overlays-in start end) (overlays-in start (1+ end))))))))

(defun indwell--changes-at-point ()
  "Return the pending changes of the region, or of the line at point."
  (if (use-region-p)
      (indwell--changes-here (region-beginning) (region-end))
    (seq-filter
     (lambda (it)
       (let* ((encoding (indwell--encoding (car indwell--document)))
              (range (plist-get it :range))
              (start (indwell--point (plist-get range :start) encoding))
              (end (indwell--point (plist-get range :end) encoding)))
         (or (and (<= start (point)) (< (point) end))
             (and (<= start (line-end-position)) (>= start (line-beginning-position))))))
     (indwell--changes-here (line-beginning-position) (line-end-position)))))

;;;; From change to change

(defun indwell--sorted-changes (connection)
  "Return the pending changes of CONNECTION as (PATH POSITION CHANGE), in order."
  (let (places)
    (dolist (change (indwell--changes connection))
      (when-let* ((path (indwell--uri-to-path (plist-get change :uri)))
                  ((file-exists-p path))
                  (place (plist-get (plist-get change :range) :start)))
        (push (list path place change) places)))
    (sort places (lambda (one two)
                   (if (equal (car one) (car two))
                       (< (plist-get (cadr one) :line) (plist-get (cadr two) :line))
                     (string< (car one) (car two)))))))

(defun indwell--go-to-change (step)
  "Go STEP changes forward or backward, over all files."
  (let* ((connection (indwell--connection))
         (places (indwell--sorted-changes connection))
         (here (and buffer-file-name (cadr indwell--document)
                    (indwell--uri-to-path (cadr indwell--document))))
         (line (1- (line-number-at-pos (point) t)))
         (after-p (lambda (it)
                    (or (null here) (string< here (car it))
                        (and (equal here (car it)) (> (plist-get (cadr it) :line) line)))))
         (before-p (lambda (it)
                     (and here (or (string< (car it) here)
                                   (and (equal here (car it)) (< (plist-get (cadr it) :line) line))))))
         (target (if (> step 0) (or (seq-find after-p places) (car places))
                   (or (seq-find before-p (reverse places)) (car (last places))))))
    (cond
     ((and (null target) (indwell--changes connection))
      (message "The changes that wait concern deleted files: C-c i Y accepts all, C-c i X rejects all"))
     ((null target) (message "No changes of Indwell wait for review"))
     (t
      (let ((path (car target)))
        (unless (equal path here)
          (pop-to-buffer (indwell--visit path)
                         '(display-buffer-reuse-window display-buffer-same-window))
          (indwell--connection)
          (indwell--show-changes connection))
        (goto-char (indwell--point (cadr target) (indwell--encoding connection)))
        (message "Change %d of %d · turn %s" (1+ (seq-position places target)) (length places)
                 (plist-get (nth 2 target) :turn)))
      (indwell--review-keys)))))

(defvar indwell-review-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'indwell-next-change)
    (define-key map "p" #'indwell-previous-change)
    (define-key map "y" #'indwell-accept)
    (define-key map "x" #'indwell-reject)
    (define-key map "u" #'indwell-undo-verdict)
    map)
  "Keys that work directly after a command of the review.")

(defun indwell--review-keys ()
  "Let the keys of the review work until another key comes."
  (unless (or noninteractive executing-kbd-macro)
    (set-transient-map indwell-review-map)))

;;;###autoload (autoload 'indwell-next-change "indwell" nil t)
(defun indwell-next-change ()
  "Go to the next change of Indwell that waits for review."
  (interactive)
  (indwell--go-to-change 1))

(defun indwell-previous-change ()
  "Go to the previous change of Indwell that waits for review."
  (interactive)
  (indwell--go-to-change -1))

;;;; Verdicts

(defun indwell--verdict (command argument)
  "Run COMMAND of a verdict with ARGUMENT, and say what came of it."
  (let ((connection (indwell--connection)))
    (indwell--execute
     connection command (append argument '(:wait t))
     (lambda (result)
       (indwell--refresh-changes
        connection
        (lambda ()
          (message "Indwell: %s · %s" (or (plist-get result :message) "nothing to do")
                   (indwell--pending-words connection))))))
    (indwell--review-keys)))

(defun indwell--pending-words (connection)
  "Say how many changes of CONNECTION wait for review."
  (pcase (indwell--pending connection)
    (0 "no more changes to review") (1 "1 change to review")
    (number (format "%d changes to review" number))))

(defun indwell--verdict-here (command file)
  "Run COMMAND on the changes at point, or with FILE on those of the whole file."
  (cond
   ((not (and buffer-file-name (indwell--connection) indwell--document))
    (message "Go to a change first: `M-x indwell-next-change'"))
   (file (indwell--verdict command (list :uri (cadr indwell--document))))
   (t
    (let ((changes (indwell--changes-at-point)))
      (if (null changes)
          (message "No change of Indwell is here; `M-x indwell-next-change' goes to the next one")
        (indwell--verdict command
                          (list :hunks (vconcat (mapcar (lambda (it) (plist-get it :id)) changes)))))))))

(defun indwell-accept (&optional file)
  "Accept the change at point, or the changes of the region.
With a prefix argument FILE, accept all changes of the file."
  (interactive "P")
  (indwell--verdict-here "indwell.accept" file))

(defun indwell-reject (&optional file)
  "Reject the change at point, or the changes of the region.
The old lines come back, and text that you wrote since stays.  With a
prefix argument FILE, reject all changes of the file."
  (interactive "P")
  (indwell--verdict-here "indwell.reject" file))

(defun indwell-accept-all ()
  "Accept all changes of Indwell, in all files."
  (interactive)
  (indwell--verdict "indwell.accept" '(:all t)))

(defun indwell-reject-all ()
  "Reject all changes of Indwell, in all files, after a question."
  (interactive)
  (let ((connection (indwell--connection)))
    (when (yes-or-no-p (format "Reject all (%s)? " (indwell--pending-words connection)))
      (indwell--verdict "indwell.reject" '(:all t)))))

(defun indwell-undo-verdict ()
  "Take back the last accept or reject."
  (interactive)
  (indwell--verdict "indwell.undoVerdict" nil))

(defun indwell-diff ()
  "Show the pending changes of the file, or of all files, as a diff."
  (interactive)
  (let ((connection (indwell--connection)))
    (indwell--execute connection "indwell.open"
                      (append '(:what "diff")
                              (and indwell--document buffer-file-name
                                   (indwell--changes-here (point-min) (point-max))
                                   (list :uri (cadr indwell--document)))))))

(defun indwell--review-event (connection _session event)
  "Show the changes of CONNECTION again after EVENT, if the event concerns changes."
  (when (member (plist-get event :type) '("hunksChanged" "turnFinished"))
    (indwell--refresh-changes connection)))

(add-hook 'indwell-event-functions #'indwell--review-event)
(add-hook 'indwell-connected-functions #'indwell--refresh-changes)

(provide 'indwell-review)
;;; indwell-review.el ends here
