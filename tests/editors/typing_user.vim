" Begins the turn "Fix this" once the server runs; then the test presses keys.
set cmdheight=5
function! s:Begin(timer) abort
  for [l:key, l:it] in items(ale#lsp#GetConnections())
    if !l:it.initialized | continue | endif
    let l:range = {'start': {'line': 3, 'character': 0}, 'end': {'line': 6, 'character': 0}}
    let l:message = ale#lsp#message#ExecuteCommand('indwell.fix', [{'uri': ale#path#ToFileURI($INDWELL_PATH), 'range': l:range}])
    call ale#lsp_linter#SendRequest(bufnr(''), 'indwell', l:message, {answer -> 0})
    return timer_stop(a:timer)
  endfor
endfunction
execute 'edit' fnameescape($INDWELL_PATH)
call timer_start(300, function('s:Begin'), {'repeat': -1})
