;;; indwell-protocol.el --- Connections and positions of Indwell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; This file is part of the package indwell; see indwell.el.

;;; Commentary:

;; The state of a connection to one server, answers that come later, and what the
;; protocol calls URIs and positions.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'seq)
(require 'subr-x)
(require 'url-parse)
(require 'url-util)

(defgroup indwell nil
  "A coding agent that lives in a language server."
  :group 'tools
  :prefix "indwell-")

(defcustom indwell-command '("indwell" "serve" "--stdio")
  "The program that starts the server of Indwell, and its arguments."
  :type '(repeat string))

(defcustom indwell-settings nil
  "Settings for the server, as a property list such as (:mode \"ask\").
Settings of an editor only tighten your own settings file."
  :type 'plist)

(defcustom indwell-revert-changed-files t
  "Whether to read a file again that a command of Indwell has changed on disk.
A buffer with unsaved text is never read again."
  :type 'boolean)

(defcustom indwell-start-timeout 30
  "Seconds to wait for the server to start."
  :type 'number)

(defvar indwell-event-functions nil
  "Functions that get the connection, the session and each event of a turn.")

(defvar indwell-connected-functions nil
  "Functions that get each new connection once the server is ready.")

(defvar indwell--connections nil "All living connections, newest first.")

(defvar-local indwell--own-connection nil
  "The connection of a buffer that belongs to Indwell, such as a chat.")

(defclass indwell-connection (jsonrpc-process-connection)
  ((root :initarg :root :accessor indwell--root-of)
   (ready :initform nil :accessor indwell--ready)
   (encoding :initform "utf-16" :accessor indwell--encoding)
   (incremental :initform nil :accessor indwell--incremental)
   (documents :initform (make-hash-table :test #'equal) :accessor indwell--documents)
   (session :initform nil :accessor indwell--session)
   (running :initform nil :accessor indwell--running)
   (failed :initform nil :accessor indwell--failed)
   (status :initform nil :accessor indwell--status)
   (questions :initform nil :accessor indwell--questions)
   (changes :initform nil :accessor indwell--changes)
   (pending :initform 0 :accessor indwell--pending)
   (progress :initform nil :accessor indwell--progress)
   (chat :initform nil :accessor indwell--chat)
   (leaving :initform nil :accessor indwell--leaving))
  :documentation "A connection to one server of Indwell, for one project.")

(cl-defstruct indwell--later
  "The place of an answer that comes later; ID is the id of the request."
  id connection method answered)

(cl-defmethod jsonrpc-connection-send :around
  ((_connection indwell-connection) &rest all &key id result &allow-other-keys)
  "Send nothing for a RESULT that comes later, but note the ID in ALL."
  (if (indwell--later-p result)
      (setf (indwell--later-id result) id)
    (ignore all)
    (cl-call-next-method)))

(defun indwell--answer (later result)
  "Answer the request of LATER with RESULT, once."
  (let ((connection (indwell--later-connection later)))
    (unless (indwell--later-answered later)
      (setf (indwell--later-answered later) t)
      (when (jsonrpc-running-p connection)
        (jsonrpc-connection-send connection :id (indwell--later-id later) :result result)))))

;;;; Paths, URIs and positions

(defun indwell--visit (path)
  "Return a buffer that visits PATH, without a question about its local variables.
A server shows or reads a file while the user types, and a key such as SPC would
allow a file or a .dir-locals.el to run code.  Safe variables are set."
  (let ((enable-local-variables (and enable-local-variables :safe))
        (enable-local-eval nil))
    (find-file-noselect path)))

(defun indwell--path-to-uri (path)
  "Return the file URI of PATH."
  (let ((path (expand-file-name path)))
    (concat "file://" (unless (string-prefix-p "/" path) "/")
            (url-hexify-string path (url--allowed-chars (append '(?/ ?:) url-unreserved-chars))))))

(defun indwell--uri-to-path (uri)
  "Return the path of the file URI, or nil for a URI of another kind."
  (when (string-prefix-p "file://" uri)
    (let ((path (decode-coding-string
                 (url-unhex-string (url-filename (url-generic-parse-url uri))) 'utf-8)))
      (if (and (memq system-type '(windows-nt ms-dos)) (string-match-p "\\`/[A-Za-z]:" path))
          (substring path 1)
        path))))

(defun indwell--column (start end encoding)
  "Count what lies between START and END in the units of ENCODING."
  (pcase encoding
    ("utf-32" (- end start))
    ("utf-8" (string-bytes (buffer-substring-no-properties start end)))
    (_ (+ (- end start)
          (save-excursion
            (goto-char start)
            (let ((wide 0))
              (while (re-search-forward "[\U00010000-\U0010FFFF]" end t) (cl-incf wide))
              wide))))))

(defun indwell--lone-returns-p ()
  "Say whether the buffer has carriage returns, which end lines for a server."
  (save-excursion (goto-char (point-min)) (search-forward "\r" nil t)))

(defun indwell--position (position encoding)
  "Return POSITION of the buffer as a position of the protocol in ENCODING."
  (save-excursion
    (save-restriction
      (widen)
      (let ((line 0) (start (point-min)))
        (if (not (indwell--lone-returns-p))
            (progn (goto-char position)
                   (setq line (1- (line-number-at-pos position t))
                         start (line-beginning-position)))
          (goto-char (point-min))
          (while (and (re-search-forward "\r\n\\|\r\\|\n" nil t) (<= (point) position))
            (setq line (1+ line) start (point))))
        (list :line line :character (indwell--column start position encoding))))))

(defun indwell--point (place encoding)
  "Return the position in the buffer of PLACE, a position in ENCODING."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (let ((line (plist-get place :line)) (column (plist-get place :character)))
        (if (not (indwell--lone-returns-p))
            (if (and (> line 0) (or (/= 0 (forward-line line)) (not (bolp)))) (setq column nil))
          (while (and (> line 0) (re-search-forward "\r\n\\|\r\\|\n" nil t)) (cl-decf line))
          (when (> line 0) (goto-char (point-max)) (setq column nil)))
        (when column
          (let ((start (point)) (end (save-excursion (skip-chars-forward "^\r\n") (point))))
            (if (equal encoding "utf-32")
                (goto-char (min end (+ start column)))
              (while (and (< (point) end) (< (indwell--column start (point) encoding) column))
                (forward-char)))))
        (point)))))

(defun indwell--range (start end encoding)
  "Return the range of the protocol from START to END in ENCODING."
  (list :start (indwell--position start encoding) :end (indwell--position end encoding)))

(provide 'indwell-protocol)
;;; indwell-protocol.el ends here
