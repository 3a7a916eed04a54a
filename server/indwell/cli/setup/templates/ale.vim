filetype plugin on  " without it ALE starts nothing; `vim` without a .vimrc of yours has it
let g:ale_lsp_show_message_severity = 'information'  " ends of turns, and answers
let s:indwell_types = {}
function! s:IndwellHasAle() abort  " says once that ALE is missing, instead of an error for each file
  if !empty(globpath(&runtimepath, 'autoload/ale/linter.vim')) | return 1 | endif
  if !exists('s:indwell_told') | echomsg 'Indwell: this Vim has no ALE; install ALE, or use `indwell` in a terminal' | endif
  let s:indwell_told = 1
endfunction
function! s:IndwellRoot(buffer) abort
  let l:git = ale#path#FindNearestDirectory(a:buffer, '.git')
  return empty(l:git) ? '' : fnamemodify(l:git, ':h:h')
endfunction
function! s:IndwellAdd(type) abort  " beside what ALE does for this type of file already
  if empty(a:type) || has_key(s:indwell_types, a:type) || !s:IndwellHasAle() | return | endif
  let s:indwell_types[a:type] = 1
  let l:names = map(copy(ale#linter#Get(a:type)), 'v:val.name')
  call ale#linter#Define(a:type, {'name': 'indwell', 'lsp': 'stdio', 'executable': @PROGRAM@,
    \ 'command': @ARGUMENTS@, 'project_root': function('s:IndwellRoot')})
  let g:ale_linters = extend(get(g:, 'ale_linters', {}), {a:type: l:names + ['indwell']})
endfunction
autocmd FileType * call s:IndwellAdd(expand('<amatch>'))
" ALE tells a server of an edit that the server asked for only at your next key; this does it at once.
function! s:IndwellTell(connection) abort
  for l:buffer in keys(ale#lsp#GetConnections()[a:connection].open_documents)
    call ale#lsp#NotifyForChanges(a:connection, str2nr(l:buffer))
  endfor
endfunction
" Indwell puts its own edits on disk for a command, and Vim would ask at `:w`. Where the disk holds the very text of
" the buffer, Vim reads it and keeps its undo; of what a command changed, it reads what holds no unsaved text of yours.
set autoread
augroup IndwellSaved | augroup END
function! s:IndwellSaved() abort
  let l:path = expand('%:p')
  let l:plain = &fileformat ==# 'unix' && index(['', 'utf-8'], &fileencoding) >= 0 && &endofline && !&bomb
  if !&modified || &readonly || &buftype !=# '' || !l:plain || !has_key(s:indwell_types, &filetype) | return | endif
  if !filereadable(l:path) || readfile(l:path, 'b') !=# getline(1, '$') + [''] | return | endif
  let [l:undo, l:limit] = [fnameescape(tempname()), &undoreload]
  try
    autocmd IndwellSaved FileChangedShell <buffer> let v:fcs_choice = 'reload'
    execute 'silent! wundo!' l:undo
    if !filereadable(l:undo) | return | endif  " nothing that would bring the undo back
    set undoreload=0
    execute 'silent checktime' bufnr('')
    execute 'silent rundo' l:undo
  finally
    autocmd! IndwellSaved
    let &undoreload = l:limit
    call delete(l:undo)
  endtry
endfunction
function! s:IndwellLook(...) abort
  if mode() !=# 'n' | return | endif
  call s:IndwellSaved()
  for l:it in filter(getbufinfo({'bufloaded': 1}), '!v:val.changed && filereadable(v:val.name)')
    execute 'checktime' l:it.bufnr
  endfor
endfunction
autocmd BufEnter,InsertLeave * call timer_start(1, function('s:IndwellLook'))
" ALE answers no question of a server; these lines put Indwell's to you, when you have typed nothing for a second. Words
" such as allow-once answer; keys that you typed before are dropped, and CTRL-C gives no answer, which is No.
let [s:indwell_typed, s:indwell_asks] = [reltime(), 0]
augroup IndwellTyped
  autocmd!
  autocmd InsertCharPre,CursorMoved,CursorMovedI,TextChanged,TextChangedI,CmdlineChanged * let s:indwell_typed = reltime()
augroup END
function! s:IndwellWord(start, title) abort  " no for No; else what nobody types into a file: allow-once, choose-not-now
  let l:parts = split(tolower(substitute(a:title, ':.*', '', '')), '\A\+')[:2]
  return a:title ==# 'No' ? 'no' : join([a:start] + (empty(l:parts) ? ['answer'] : l:parts), '-')
endfunction
function! s:IndwellWords(titles) abort  " with a letter behind it where two are alike
  let l:start = get(a:titles, 0, '') ==# 'No' ? 'allow' : 'choose'
  let l:words = map(copy(a:titles), {_, it -> s:IndwellWord(l:start, it)})
  return map(copy(l:words), {at, it -> count(l:words, it) > 1 ? it . '-' . nr2char(97 + at) : it})
endfunction
function! s:IndwellChosen(words, text) abort  " a letter or more behind the first hyphen is enough where one word begins so
  let l:typed = tolower(a:text)
  let l:found = l:typed =~# '-.' ? filter(copy(a:words), {_, it -> stridx(it, l:typed) == 0}) : []
  return index(a:words, index(a:words, l:typed) < 0 && len(l:found) == 1 ? l:found[0] : l:typed)
endfunction
function! s:IndwellAsk(connection, message, note, ...) abort
  let l:is_busy = s:indwell_asks || reltimefloat(reltime(s:indwell_typed)) < 1 || mode(1) =~# '^\(c\|r\|!\|no\)'
  if l:is_busy
    call timer_start(100, function('s:IndwellAsk', [a:connection, a:message, a:note]))
    return
  endif
  let s:indwell_asks = 1
  let l:titles = map(copy(get(a:message.params, 'actions', [])), 'v:val.title')
  let l:words = s:IndwellWords(l:titles)
  let l:lines = [a:message.params.message, ''] + map(copy(l:titles), {at, it -> '  ' . l:words[at] . ': ' . it})
  let l:lines += a:note + ['Type a word (' . join(l:words, ', ') . ') and <Enter>: ']
  let l:is_quiet = 0
  while !l:is_quiet
    sleep 300m
    let l:is_quiet = 1
    while getchar(0) isnot 0 | let l:is_quiet = 0 | endwhile
  endwhile
  call inputsave()
  try
    let l:text = trim(input("\n" . join(l:lines, "\n")))
    let l:at = s:IndwellChosen(l:words, l:text)
  catch /^Vim:Interrupt$/
    let l:at = -2
  finally
    call inputrestore()
    let s:indwell_asks = 0
    redraw!
  endtry
  if l:at == -1 | return s:IndwellAsk(a:connection, a:message, ['"' . l:text . '" is not one of the words.']) | endif
  let l:result = l:at >= 0 ? {'title': l:titles[l:at]} : v:null
  let l:body = json_encode({'jsonrpc': '2.0', 'id': a:message.id, 'result': l:result})
  let l:job = ale#lsp#GetConnections()[a:connection].job_id
  call ale#job#SendRaw(l:job, 'Content-Length: ' . strlen(l:body) . "\r\n\r\n" . l:body)
endfunction
function! s:IndwellAsked(connection, message) abort
  let l:method = get(a:message, 'method', '')
  if l:method ==# 'workspace/applyEdit' | call timer_start(1, {-> s:IndwellTell(a:connection)}) | endif
  if l:method ==# 'window/showMessage' | call timer_start(1, function('s:IndwellLook')) | endif  " a turn has ended
  if l:method ==# 'window/showMessageRequest' | call timer_start(1, function('s:IndwellAsk', [a:connection, a:message, []])) | endif
endfunction
function! s:IndwellStarted() abort
  for l:connection in keys(ale#lsp#GetConnections())
    if stridx(l:connection, @PROGRAM@ . ':') != 0 | continue | endif
    call ale#lsp#RegisterCallback(l:connection, function('s:IndwellAsked'))
    call ale#lsp#RegisterCallback(l:connection, function('ale#codefix#HandleLSPResponse')) " takes edits from now on
  endfor
endfunction
autocmd User ALELSPStarted call s:IndwellStarted()
function! s:IndwellIsFile(buffer) abort
  return getbufvar(a:buffer, '&buftype') ==# '' && !empty(bufname(a:buffer)) && has_key(s:indwell_types, getbufvar(a:buffer, '&filetype'))
endfunction
function! s:IndwellRun(command) abort  " in a buffer without a file, takes the project of another open file
  unlet! s:indwell_told
  if !s:IndwellHasAle() | return | endif
  let l:files = filter([bufnr('')] + map(getbufinfo({'bufloaded': 1}), 'v:val.bufnr'), {_, it -> s:IndwellIsFile(it)})
  if empty(l:files) | echomsg 'Indwell: open a file of your project first' | return | endif
  call ale#lsp_linter#SendRequest(l:files[0], 'indwell', ale#lsp#message#ExecuteCommand(a:command, []))
endfunction
command! -nargs=1 IndwellRun call s:IndwellRun(<q-args>)
