;;; indwell-neighbours.el --- What the other servers know  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; This file is part of the package indwell; see indwell.el.

;;; Commentary:

;; Problems that flymake and flycheck show, and answers of the server of eglot,
;; for the server of Indwell.  The other servers are only asked.

;;; Code:

(require 'indwell-connection)

(declare-function flymake-diagnostics "flymake")
(declare-function flymake-diagnostic-beg "flymake")
(declare-function flymake-diagnostic-end "flymake")
(declare-function flymake-diagnostic-text "flymake")
(declare-function flymake-diagnostic-type "flymake")
(declare-function flymake-running-backends "flymake")
(declare-function flycheck-error-line "ext:flycheck")
(declare-function flycheck-error-message "ext:flycheck")
(declare-function flycheck-error-level "ext:flycheck")
(declare-function eglot-current-server "ext:eglot")
(declare-function eglot--signal-textDocument/didChange "ext:eglot")

(defun indwell--severity (type)
  "Return the severity in the protocol of the TYPE of a problem of flymake."
  (pcase (if (keywordp type) type (get type 'flymake-category))
    ((or :error 'flymake-error) 1) ((or :warning 'flymake-warning) 2) (_ 3)))

(defun indwell--problems (connection start end)
  "Return the problems of flymake and flycheck from START to END for CONNECTION."
  (let ((encoding (indwell--encoding connection)))
    (append
     (when (bound-and-true-p flymake-mode)
       (mapcar (lambda (it)
                 (list :range (indwell--range (flymake-diagnostic-beg it) (flymake-diagnostic-end it) encoding)
                       :severity (indwell--severity (flymake-diagnostic-type it))
                       :source "flymake"
                       :message (flymake-diagnostic-text it)))
               (flymake-diagnostics start end)))
     (when (bound-and-true-p flycheck-mode)
       (delq nil
             (mapcar (lambda (it)
                       (save-excursion
                         (goto-char (point-min))
                         (forward-line (1- (or (flycheck-error-line it) 1)))
                         (when (and (<= start (line-end-position)) (<= (point) end))
                           (list :range (indwell--range (point) (line-end-position) encoding)
                                 :severity (pcase (flycheck-error-level it) ('error 1) ('warning 2) (_ 3))
                                 :source "flycheck"
                                 :message (or (flycheck-error-message it) "")))))
                     (symbol-value 'flycheck-current-errors)))))))

(defun indwell--problems-of (connection uri)
  "Return the problems of the document URI of CONNECTION, or `unknown'."
  (let ((buffer (indwell--buffer-of connection uri)))
    (if (not (buffer-live-p buffer)) 'unknown
      (with-current-buffer buffer
        (if (or (bound-and-true-p flymake-mode) (bound-and-true-p flycheck-mode))
            (save-restriction (widen) (indwell--problems connection (point-min) (point-max)))
          'unknown)))))

(defun indwell--let-others-know (buffer)
  "Let eglot tell its server about the changes of BUFFER, which it delays."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (when (and (bound-and-true-p eglot--managed-mode)
                 (fboundp 'eglot--signal-textDocument/didChange))
        (ignore-errors (eglot--signal-textDocument/didChange))))))

(cl-defmethod indwell--handle (connection (_ (eql 'indwell/diagnostics)) params later)
  "Answer LATER with the problems of the documents in PARAMS of CONNECTION."
  (let* ((uris (append (plist-get params :uris) nil))
         (until (time-add nil (or (plist-get params :wait) 0)))
         (settled (time-add nil 0.7)) (seen 'none) check)
    (setq check
          (lambda ()
            (let ((now (mapcar (lambda (uri) (cons uri (indwell--problems-of connection uri))) uris)))
              (if (or (time-less-p until nil) (and (equal now seen) (time-less-p settled nil)))
                  (indwell--answer
                   later
                   (list :documents
                         (vconcat (mapcar (lambda (it) (list :uri (car it) :diagnostics (vconcat (cdr it))))
                                          (seq-remove (lambda (it) (eq 'unknown (cdr it))) now)))))
                (setq seen now)
                (run-at-time 0.3 nil check)))))
    (indwell--soon
     (lambda ()
       (dolist (uri uris) (indwell--let-others-know (indwell--buffer-of connection uri)))
       (funcall check)))
    later))

(defun indwell--eglot-encoding (server)
  "Return the position encoding of the SERVER of eglot."
  (let ((slot 'capabilities))
    (or (ignore-errors (plist-get (eieio-oref server slot) :positionEncoding)) "utf-16")))

(cl-defmethod indwell--handle (connection (_ (eql 'indwell/navigate)) params later)
  "Ask the server of eglot what PARAMS of CONNECTION ask; answer LATER."
  (indwell--soon
   (lambda ()
     (let* ((uri (plist-get params :uri))
            (path (and uri (indwell--uri-to-path uri)))
            (buffer (or (and uri (indwell--buffer-of connection uri))
                        (and path (file-exists-p path) (indwell--visit path))
                        (seq-find (lambda (it) (buffer-local-value 'indwell--document it))
                                  (buffer-list))))
            (server (and buffer (fboundp 'eglot-current-server)
                         (with-current-buffer buffer (eglot-current-server)))))
       (if (not server) (indwell--answer later (list :replies []))
         (indwell--let-others-know buffer)
         (let* ((encoding (indwell--eglot-encoding server))
                (reply (lambda (more)
                         (indwell--answer later (list :replies (vector (append (list :name "eglot" :encoding encoding)
                                                                               more))))))
                (place (and (plist-get params :line)
                            (with-current-buffer buffer
                              (indwell--position
                               (indwell--point (list :line (plist-get params :line)
                                                     :character (plist-get params :character))
                                               "utf-16")
                               encoding)))))
           (jsonrpc-async-request
            server (intern (concat ":" (plist-get params :method)))
            (append (and uri (list :textDocument (list :uri uri)))
                    (and place (list :position place))
                    (list :context '(:includeDeclaration t)
                          :newName (plist-get params :name) :query (or (plist-get params :query) "")))
            :timeout 8
            :success-fn (lambda (result) (funcall reply (list :result result)))
            :error-fn (lambda (problem) (funcall reply (list :error (or (plist-get problem :message) "it failed"))))
            :timeout-fn (lambda () (funcall reply (list :error "it did not answer in 8 seconds")))))))))
  later)

(provide 'indwell-neighbours)
;;; indwell-neighbours.el ends here
