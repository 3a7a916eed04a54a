;;; indwell-documents.el --- Documents and edits of Indwell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; This file is part of the package indwell; see indwell.el.

;;; Commentary:

;; Buffers below the folder of a project are documents of its server.  Their changes
;; are sent incrementally.  Edits of the server are applied only to the version
;; of the text for which they were made.

;;; Code:

(require 'indwell-protocol)

;;;; Documents

(defvar-local indwell--document nil
  "The document of this buffer: a list of its connection and its URI.")
(defvar-local indwell--version 0 "The version of the document.")
(defvar-local indwell--unsent nil
  "Changes since the last notification, newest first, or `all' for the whole text.")
(defvar-local indwell--flush-timer nil "The timer that sends changes.")

(defun indwell--text ()
  "Return the whole text of the buffer."
  (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max))))

(defun indwell--before-change (start end)
  "Note the place from START to END before a change."
  (when (listp indwell--unsent)
    (let ((encoding (indwell--encoding (car indwell--document))))
      (push (list (indwell--range start end encoding) start end) indwell--unsent))))

(defun indwell--after-change (start end length)
  "Note the text from START to END that replaced LENGTH characters."
  (cl-incf indwell--version)
  (let ((change (and (listp indwell--unsent) (car indwell--unsent))))
    (if (and change (= 3 (length change)) (= start (nth 1 change))
             (= length (- (nth 2 change) start)))
        (setcar indwell--unsent
                (list :range (car change)
                      :text (save-restriction (widen) (buffer-substring-no-properties start end))))
      (setq indwell--unsent 'all)))
  (unless indwell--flush-timer
    (setq indwell--flush-timer
          (run-with-timer 0.2 nil #'indwell--flush-buffer (current-buffer)))))

(defun indwell--flush-buffer (buffer)
  "Send the changes of BUFFER."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (when indwell--flush-timer (cancel-timer indwell--flush-timer))
      (setq indwell--flush-timer nil)
      (when (and indwell--unsent indwell--document)
        (let* ((connection (car indwell--document))
               (whole (or (eq indwell--unsent 'all)
                          (not (indwell--incremental connection))
                          (seq-some (lambda (it) (not (eq (car it) :range))) indwell--unsent)))
               (changes (if whole (list (list :text (indwell--text))) (reverse indwell--unsent))))
          (setq indwell--unsent nil)
          (when (jsonrpc-running-p connection)
            (jsonrpc-notify connection :textDocument/didChange
                            (list :textDocument (list :uri (cadr indwell--document)
                                                      :version indwell--version)
                                  :contentChanges (vconcat changes)))))))))

(defun indwell--flush (connection)
  "Send all changes of all documents of CONNECTION."
  (maphash (lambda (_uri buffer) (indwell--flush-buffer buffer)) (indwell--documents connection)))

(defun indwell--language ()
  "Return the language of the buffer as the protocol names it."
  (let ((name (replace-regexp-in-string "\\(?:-ts\\)?-mode\\'" "" (symbol-name major-mode))))
    (pcase name
      ("js" "javascript") ("js2" "javascript") ("c++" "cpp") ("sh" "shellscript")
      ("bash" "shellscript") ("emacs-lisp" "elisp") ("gfm" "markdown") ("js-json" "json")
      (_ name))))

(defun indwell--syncable-p (root)
  "Say whether the buffer visits a file of this machine below ROOT."
  (and buffer-file-name
       (not (file-remote-p buffer-file-name))
       (not (buffer-base-buffer))
       (string-prefix-p (file-truename root) (file-truename buffer-file-name))))

(defun indwell--open (connection)
  "Tell the server of CONNECTION about the buffer, if it does not know the buffer."
  (unless (and indwell--document (eq connection (car indwell--document)))
    (let ((uri (indwell--path-to-uri buffer-file-name)))
      (setq indwell--document (list connection uri) indwell--version 0 indwell--unsent nil)
      (puthash uri (current-buffer) (indwell--documents connection))
      (add-hook 'before-change-functions #'indwell--before-change nil t)
      (add-hook 'after-change-functions #'indwell--after-change nil t)
      (add-hook 'after-save-hook #'indwell--saved nil t)
      (add-hook 'kill-buffer-hook #'indwell--close nil t)
      (add-hook 'change-major-mode-hook #'indwell--close nil t)
      (add-hook 'after-revert-hook #'indwell--reverted nil t)
      (jsonrpc-notify connection :textDocument/didOpen
                      (list :textDocument (list :uri uri :version 0 :languageId (indwell--language)
                                                :text (indwell--text)))))))

(defun indwell--close ()
  "Tell the server that the buffer is no longer open."
  (when indwell--document
    (pcase-let ((`(,connection ,uri) indwell--document))
      (remhash uri (indwell--documents connection))
      (when indwell--flush-timer (cancel-timer indwell--flush-timer))
      (setq indwell--flush-timer nil indwell--document nil indwell--unsent nil)
      (remove-hook 'before-change-functions #'indwell--before-change t)
      (remove-hook 'after-change-functions #'indwell--after-change t)
      (remove-hook 'after-save-hook #'indwell--saved t)
      (remove-hook 'kill-buffer-hook #'indwell--close t)
      (remove-hook 'change-major-mode-hook #'indwell--close t)
      (remove-hook 'after-revert-hook #'indwell--reverted t)
      (remove-overlays nil nil 'indwell t)
      (when (jsonrpc-running-p connection)
        (jsonrpc-notify connection :textDocument/didClose
                        (list :textDocument (list :uri uri)))))))

(defun indwell--saved ()
  "Tell the server that the buffer was saved, under its present name."
  (when indwell--document
    (pcase-let ((`(,connection ,uri) indwell--document))
      (indwell--flush-buffer (current-buffer))
      (if (equal uri (indwell--path-to-uri buffer-file-name))
          (when (jsonrpc-running-p connection)
            (jsonrpc-notify connection :textDocument/didSave
                            (list :textDocument (list :uri uri))))
        (indwell--close)
        (indwell--open connection)))))

(defun indwell--reverted ()
  "Send the whole text after the file was read again."
  (when indwell--document
    (cl-incf indwell--version)
    (setq indwell--unsent 'all)
    (indwell--flush-buffer (current-buffer))))

(defun indwell--open-all (connection)
  "Open all buffers that visit files of the project of CONNECTION."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (indwell--syncable-p (indwell--root-of connection))
        (indwell--open connection)))))

(defun indwell--file-opened ()
  "Open the file of the buffer for the server of its project, if one runs."
  (when buffer-file-name
    (when-let ((connection (seq-find (lambda (it) (and (indwell--ready it) (jsonrpc-running-p it)
                                                       (indwell--syncable-p (indwell--root-of it))))
                                     indwell--connections)))
      (indwell--open connection))))

(defun indwell--buffer-of (connection uri)
  "Return the buffer of URI, which CONNECTION knows, or which visits its file."
  (let ((buffer (gethash uri (indwell--documents connection)))
        (path (indwell--uri-to-path uri)))
    (if (buffer-live-p buffer) buffer
      (and path (find-buffer-visiting path)))))

(defun indwell--revert-changed (connection)
  "Read again the unchanged buffers of CONNECTION whose files changed on disk."
  (when indwell-revert-changed-files
    (maphash (lambda (_uri buffer)
               (when (buffer-live-p buffer)
                 (with-current-buffer buffer
                   (when (and (not (buffer-modified-p)) (file-exists-p buffer-file-name)
                              (not (verify-visited-file-modtime buffer)))
                     (let ((inhibit-message t)) (revert-buffer t t t))))))
             (copy-hash-table (indwell--documents connection)))))


;;;; Edits of the server

(defun indwell--apply-edits (connection buffer edits)
  "Apply EDITS of the protocol to BUFFER as one step of undo, for CONNECTION."
  (with-current-buffer buffer
    (barf-if-buffer-read-only)
    (save-excursion
      (save-restriction
        (widen)
        (let* ((encoding (indwell--encoding connection))
               (places (mapcar (lambda (edit)
                                 (let ((range (plist-get edit :range)))
                                   (list (copy-marker (indwell--point (plist-get range :start) encoding))
                                         (copy-marker (indwell--point (plist-get range :end) encoding))
                                         (plist-get edit :newText))))
                               edits))
               (group (prepare-change-group)))
          (undo-boundary)
          (atomic-change-group
            (pcase-dolist (`(,start ,end ,text) (reverse places))
              (goto-char start)
              (let ((inhibit-read-only nil))
                (delete-region start end)
                (insert text))
              (set-marker start nil)
              (set-marker end nil)))
          (undo-amalgamate-change-group group)
          (undo-boundary))))
    (indwell--flush-buffer buffer)))

(defun indwell--documents-of-edit (edit)
  "Return a list of (URI VERSION EDITS) for the workspace edit EDIT."
  (let ((documents (append (plist-get edit :documentChanges) nil)))
    (if documents
        (mapcar (lambda (it)
                  (when (plist-get it :kind)
                    (error "This Emacs creates, renames and deletes no files for a server"))
                  (list (plist-get (plist-get it :textDocument) :uri)
                        (plist-get (plist-get it :textDocument) :version)
                        (append (plist-get it :edits) nil)))
                documents)
      (cl-loop for (uri edits) on (plist-get edit :changes) by #'cddr
               collect (list (substring (symbol-name uri) 1) nil (append edits nil))))))

(defun indwell--apply-workspace-edit (connection edit)
  "Apply the workspace edit EDIT of CONNECTION; signal an error if it does not fit."
  (let ((documents (indwell--documents-of-edit edit)))
    (setq documents
          (mapcar (pcase-lambda (`(,uri ,version ,edits))
                    (let ((buffer (indwell--buffer-of connection uri)))
                      (unless buffer (error "%s is not open in Emacs" uri))
                      (with-current-buffer buffer
                        (when (and version (/= version indwell--version))
                          (error "%s was changed meanwhile (version %s, not %s)"
                                 (buffer-name) indwell--version version))
                        (barf-if-buffer-read-only))
                      (list buffer edits)))
                  documents))
    (pcase-dolist (`(,buffer ,edits) documents)
      (indwell--apply-edits connection buffer edits))))

(provide 'indwell-documents)
;;; indwell-documents.el ends here
