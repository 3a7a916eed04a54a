"""Lists the words by which sentences of the user are recognised, for each language. Pure."""

from __future__ import annotations

# ruff: noqa: RUF001 -- words and marks of many scripts are meant
import re
from collections.abc import Mapping

from indwell.lazy_pattern import lazy_pattern


def pattern(
    words: Mapping[str, str], anywhere: Mapping[str, str], not_before: str = ""
) -> re.Pattern[str]:
    """Return a pattern of whole words, and of words in scripts without blanks between words."""
    by_word = rf"(?<!\w)(?:{'|'.join(words.values())})(?![\w{not_before}])"
    return lazy_pattern("|".join((by_word, *anywhere.values())), re.IGNORECASE)


# The pattern matches the beginning of an imperative.
_BEGINS = r"(?:^|(?<=[,;:(])\s*|\b(?:please|and|but|so|also|just|you|then)\s+)"

STRICT: Mapping[str, str] = {  # words such as never, always, must, only, forbidden
    "en": rf"must|never|always|{_BEGINS}(?:do not|don['’]?t|only)|not allowed"
    r"|forbidden|prohibited|under no circumstances|whatever you do|hands off|off[- ]limits"
    r"|ha(?:s|ve) to|important that|required|in all cases|from now on",
    "de": r"nie|niemals|immer|muss|musst|müssen|müsst|d(?:arf|ürfen)\b.{0,60}\bnicht"
    r"|auf keinen fall|unter keinen umständen|verboten|grundsätzlich",
    "fr": r"jamais|toujours|doit|dois|doivent|il faut|interdit"
    r"|surtout pas|ne .{1,40} (?:jamais|pas)|interdit\w*|obligatoire\w*|exige\w*|impératif"
    r"|impérativement|en aucun cas|uniquement",
    "es": r"nunca|jamás|siempre|debe|debes|deben|prohibido"
    r"|bajo ningún concepto|en ningún caso|obligatori[oa]\w*|tiene(?:n)? que|hay que"
    r"|no se (?:puede|debe|toca)|imprescindible|únicamente|está prohibido",
    "pt": r"nunca|jamais|sempre|deve|devem|proibido",
    "it": r"mai|sempre|deve|devi|devono|vietato",
    "nl": r"nooit|altijd|moet|moeten",
    "sv, da, no": r"aldrig|aldri|alltid|altid|måste",
    "pl": r"nigdy|zawsze|musi|musisz|muszą|nie wolno|koniecznie",
    "cs": r"nikdy|vždy|musí|musíš|nesmí|nesmíš",
    "ru": r"никогда|всегда|нельзя|должен|должна|должно|должны|обязательно|запрещено",
    "uk": r"ніколи|завжди|не можна|повинен|повинна|повинні|обов['’]язково",
    "tr": r"asla|sakın|her zaman|zorunda|mutlaka",
    "id": r"jangan|selalu|harus|dilarang",
    "vi": r"đừng|không được|luôn|phải",
    "ar": r"يجب|دائما|دائمًا|أبدا|أبدًا|ممنوع",
    "hi": r"हमेशा|कभी नहीं|कभी मत|ज़रूर|जरूर",
}
STRICT_ANYWHERE: Mapping[str, str] = {  # words of scripts without blanks between words
    "zh": r"不要|不得|不准|不许|請勿|请勿|切勿|禁止|必须|必須|务必|務必"
    r"|一定要|只能|不能|千万|一律|统一|始终|總是|总是",
    "ja": r"ないで|禁止|必ず|絶対|なければ|いけない|いけません|べきで|常に",
    "ko": r"지 ?마|금지|반드시|절대|항상|해야",
}
# words such as not, only, without, use, keep, which plain statements also use
LOOSE: Mapping[str, str] = {
    "en": rf"{_BEGINS}(?:use|take|keep|leave|no (?!more|longer|problem|worries|idea|rush|thanks"
    rf"|doubt|matter)\w+|avoid|make sure|ensure|prefer|without|stick to|remember)"
    r"|instead of|no longer|only\W*$|should(?: not|n['’]t)?",
    "de": r"nicht|kein|keine|keinen|nur|ohne|bitte|statt|verwende|benutze|lass",
    "fr": r"ne|sans|seulement|uniquement|utilise|utilisez|évite|évitez|garde|gardez|au lieu de",
    "es": r"(?:^|[,;:(¡]\s*|\by\s+)no \w+(?:s|e|a)|solo|sólo|sin \w+ar"
    r"|usa|evita|evite|en vez de|en lugar de",
    "pt": r"não|só|somente|apenas|sem|evite|mantenha|em vez de",
    "it": r"non|solo|soltanto|senza|usa|usate|evita|invece di",
    "nl": r"niet|geen|alleen|zonder|gebruik|houd",
    "sv, da, no": r"inte|ikke|bara|kun|utan|uten|använd|bruk|brug",
    "pl": r"nie|tylko|bez|użyj|używaj|zachowaj|zostaw",
    "cs": r"jen|pouze|bez|použij|používej|nech",
    "ru": r"не|только|без|используй|используйте|оставь|оставьте|вместо",
    "uk": r"не|тільки|лише|без|використовуй|використовуйте|залиш",
    "tr": r"sadece|yalnızca|kullan|kullanma|değiştirme|dokunma",
    "id": r"hanya|tanpa|gunakan|hindari|tetap",
    "vi": r"không|chỉ|dùng|giữ|tránh",
    "ar": r"لا|فقط|بدون|استخدم|تجنب",
    "hi": r"मत|केवल|सिर्फ|बिना",
}
LOOSE_ANYWHERE: Mapping[str, str] = {
    "zh": r"别|不能|不用|只|保持|使用|避免|而不是|请|應該|应该",
    "ja": r"だけ|ください|使って|せず|なし|ではなく|のまま",
    "ko": r"말고|세요|만 |사용|유지|대신",
}

# words of a choice: what the user, or both, decided or prefer
CHOICE: Mapping[str, str] = {
    "en": r"let(?:['’]?s| us) (?:use|go|take|pick|stick|stay|keep|drop|call|have)|we['’]ll"
    r"|we will|we (?:chose|took|take|agreed)|go(?:ing)? (?:with|for)"
    r"|decided|decision|settled|agreed|chosen?|prefer(?:red)?|rather|instead"
    r"|i(?:['’]d)? (?:like|want|love|hate)|switch(?:ed)? to|call (?:it|the \w+)|named?|called"
    r"|remember"
    r"|no,? not|my name"
    r"|we(?:['’]re| are) (?:on|using|going|moving)|(?:it|that) will be|i(?:['’]d"
    r"| would) (?:rather|favou?r)|(?:our|my) (?:choice|pick)|opted|opt for|it is\W*$",
    "de": r"wir (?:nehmen|bleiben|wählen|verwenden|nutzen)|entschieden|beschlossen|gewählt"
    r"|lieber|statt"
    r"|stattdessen|heißt|heißen|mein name|einigten|geeinigt|bevorzuge"
    r"|nehmen wir|wir (?:setzen auf|gehen mit|einigen uns)|verständigt|festgelegt|vorzug",
    "fr": r"on part sur|on prend|nous prenons|décidé|choisi|plutôt|s['’]appelle"
    r"|on (?:utilise|garde|choisit|opte|va|reste)|nous (?:utilisons|gardons|choisissons)"
    r"|je préfère|on a (?:décidé|choisi|retenu)|opté|retenu",
    "es": r"usaremos|vamos con|decidido|elegimos|prefiero|se llama"
    r"|usamos|usaré|vamos a usar|hemos (?:decidido|elegido)|nos quedamos con|me quedo con|optamos"
    r"|elegí|quiero|preferimos",
    "pt": r"usaremos|vamos com|decidimos|prefiro|chama-se",
    "it": r"usiamo|usiamo|deciso|scelto|preferisco|si chiama",
    "ru": r"решили|выбрали|возьмём|возьмем|предпочитаю|называется",
}
CHOICE_ANYWHERE: Mapping[str, str] = {
    "en": r"\w, (?:and )?not\b",
    "zh": r"决定|就用|选用|选择|采用|我们用|改用|改成|改为|换成"
    r"|项目名|名字叫|我叫|[端擎库架]选|引擎用|负责人"
    r"|就定|定为|选了|定了",
    "ja": r"にします|に決め|を選び|という名前",
    "ko": r"로 하자|하기로|선택|라고 부",
}
# words of a task that is put off or not done yet
LATER: Mapping[str, str] = {
    "en": r"later|still (?:have to|has to|need(?:s|ed)?|to do|missing|open)|not done yet"
    r"|isn['’]t .{0,40}yet"
    r"|remind me|(?:has|have|can|must) (?:to )?wait|put off|postpone[ds]?|come back to|todo"
    r"|don['’]?t (?:let me )?forget|for the end|on the list|not yet|unfinished|left to do"
    r"|not (?:before|until|now)|(?:at some point|some ?day|one day)|parked|shelved?|on (?:ice"
    r"|hold)|not (?:in|for) (?:this|the first) (?:release|version|sprint|milestone)|next (?:week"
    r"|month|quarter|sprint|release|year)|afterwards|before we (?:go|start|touch|do)|(?:second"
    r"|later) (?:release|phase)|deferred?|backlog|for another day|not (?:a )?priority",
    "de": r"später|nicht vergessen|noch (?:nicht|offen|gemacht|zu)|fehlt noch|fehlen noch"
    r"|verschoben"
    r"|müssen noch|muss noch|zurückgestellt"
    r"|zurück|erst (?:,? ?wenn|nach|dann|im|später)|nächste[sn]? (?:woche|monat|jahr|quartal)"
    r"|irgendwann|hintangestellt|vorerst nicht|aufgeschoben|nachher|warten",
    "fr": r"plus tard|pas encore|il reste|reporté|semaine prochaine"
    r"|après|on verra|plus tard|pas (?:tout de suite|maintenant|avant)|la prochaine"
    r"|le mois prochain|en attente|il faudra|un jour|remettons|à la fin",
    "es": r"más tarde|todavía no|falta|pendiente|semana que viene"
    r"|después|luego|más adelante|aún no|por ahora no|de momento no|cuando (?:termine|acabe"
    r"|esté)\w*|próxim[oa]|algún día|queda(?:n)? por|dejamos? para|aparcad[oa]|que espere"
    r"|puede esperar",
    "pt": r"mais tarde|ainda não|falta|pendente",
    "it": r"più tardi|non ancora|manca|rimandato",
    "ru": r"позже|ещё не|еще не|осталось|отложим|потом",
}
LATER_ANYWHERE: Mapping[str, str] = {
    "zh": r"以后再|之后再|稍后|回头再|还没|别忘|没完成|没做|未完成|先放|暂时不|推后|待办"
    r"|放一放|下个?月|下周|等.{1,20}再|明年|晚点|暂缓|搁置|往后",
    "ja": r"後で|あとで|まだ|来週|忘れないで",
    "ko": r"나중에|아직|다음 주|잊지",
}
# words that certainly take an earlier statement back or change the statement
CHANGES: Mapping[str, str] = {
    "en": r"no longer|any ?more|changed my mind|change of plan|forget (?:about|it|the)|never mind"
    r"|scratch|correction|after all|dropped|drop the|switch(?:ed)? to|instead of|moved|is gone"
    r"|was lifted|(?:is|are) back|i was wrong|from here on|not .{1,40} but|no,? not"
    r"|(?:is|are) too (?:slow|short|long|small|large|big|low|high|much|many)"
    r"|scrap(?:ped|ping)?|strike that|disregard|any longer|no more|drop(?:s|ping)|i lied|(?:is"
    r"|are|['’]s) (?:out|dead|history|toast)|ditch(?:ed|ing)?|abandon(?:ed|ing)?|gave up on|(?:in"
    r"|into) the bin|obsolete|withdrawn|cancel(?:led|ed)|call(?:ed)? off|is not needed"
    r"|on second thoughts?",
    "de": r"doch nicht|doch lieber|vom tisch|nicht mehr|vergiss|stattdessen|geändert"
    r"|ändert sich|verschoben|korrektur|ab sofort|sondern"
    r"|erledigt|entfällt|fällt weg|gestrichen|verworfen|hinfällig|abgesagt|aufgehoben|rückgängig",
    "fr": r"finalement|ne .{1,40} plus|oublie|plutôt|désormais|correction|en fait"
    r"|adieu|on abandonne|abandonné|laisse[rz]? tomber|annulé|changé d['’]avis|n['’]est plus",
    "es": r"ya no|al final|olvida|corrección|en realidad"
    r"|olvida(?:d|te)?|cambiad?o de (?:idea|opinión|planes)|cancelad[oa]|descartad[oa]"
    r"|descartamos|adiós|dejamos de",
    "pt": r"já não|afinal|esqueça|correção|na verdade",
    "it": r"non più|alla fine|dimentica|correzione|in realtà",
    "ru": r"больше не|передумал|забудь|всё-таки|поправка|на самом деле",
}
CHANGES_ANYWHERE: Mapping[str, str] = {
    "zh": r"改为|改成|改用|换成|不再|不用了|取消|算了|推迟|提前|更正|还是用|恢复"
    r"|作废|放弃|不做了|不要了|不需要了|撤销|弃用|废弃",
    "ja": r"やめ|変更し|やはり|もう使わ|訂正|になりました",
    "ko": r"대신|더 이상|취소|바꾸|변경|정정",
}
# words that often tell a change, but also have other uses
REVISES: Mapping[str, str] = {
    "en": r"scrap|forget|ditch(?:ed|ing)?|abandon(?:ed|ing)?|gave up on|replac(?:e|ed|es|ing) by"
    r"|(?:has|have|had) been replaced|took over|takes over|(?:in|into) the bin|obsolete"
    r"|migrat(?:ed|ing)|outdated|in the end|(?:goes|went|comes|came) (?:up|down)|(?:up|down) to"
    r"|becomes?|became|taken over|swap(?:ped|ping)?|ignore (?:my|what)|my bad|from (?:here|now on"
    r"|today|this point)|(?:is|are|was|were|turned out|turns out|proved) (?:far |way |much "
    r"|a bit |just )?(?:too \w+|wrong|off)|not going to|(?:is|are) off|withdrawn|revoked?"
    r"|reverted?|overrul\w+|supersede\w*|rescheduled|postponed|pushed|brought forward|bumped?"
    r"|raised?|lowered|increased|reduced|cut to|extended|shortened|renam(?:ed?|ing)"
    r"|i was mistaken|my mistake|i misspoke|on second thought|second thoughts|reconsidered"
    r"|rethought|what i said|i said|i told you|as opposed to|contrary to|undo that|(?:that|this"
    r"|it) no longer|won['’]t happen|cancel(?:led|ed)|call(?:ed)? off|not needed|needn['’]t"
    r"|don['’]t need|done without|left the|has left|is leaving|quit|retired|hands over",
    "de": r"erledigt|entfällt|fällt weg|gestrichen|verworfen|korrigier\w*|nachtrag"
    r"|anders entschieden|umentschieden|umgestiegen|wechseln|gewechselt|umgezogen|ersetzt"
    r"|abgelöst|aufgehoben|zurückgenommen|hinfällig|veraltet|überholt|ab jetzt|ab heute|künftig"
    r"|fortan|von nun an|was ich .{1,30} gesagt|falsch|zu (?:langsam|kurz|lang|klein|groß|hoch"
    r"|niedrig|wenig|viel|teuer)|brauchen wir nicht|lassen wir|verzichten|erhöht|gesenkt"
    r"|verlängert|verkürzt|vorgezogen|umbenannt|rückgängig|abgesagt|ausgefallen",
    "fr": r"adieu|on abandonne|abandonné|laisse tomber|laissez tomber|oubli(?:e|ez|ons)|remplacé"
    r"|n['’]est plus|ne .{1,40} plus|changé d['’]avis|changement|annulé|reporté|repoussé|avancé"
    r"|trop \w+|dorénavant|à partir de|correction|je me suis trompé|tout compte fait"
    r"|passe(?:nt)? (?:à|de)|tombe(?:nt)? à|monte(?:nt)? à|au lieu de|ce que j['’]ai dit"
    r"|plus besoin|terminé pour",
    "es": r"ya no|olvida(?:d|te)?|cambi(?:o|é|amos|ado) de (?:idea|opinión|planes)|cambiamos"
    r"|pasamos a|pasa(?:n)? a|dejamos de|en lugar de|en vez de|cancelad[oa]|descartad[oa]"
    r"|descartamos|retrasad[oa]|se (?:retrasa|aplaza|mueve|adelanta)|aplazad[oa]|adelantad[oa]"
    r"|sustitui\w*|reemplaz\w*|demasiado \w+|a partir de|me equivoqué|rectifico|mejor no|adiós"
    r"|lo (?:que dije|de)|quitamos|eliminamos|fuera|sube(?:n)? a|baja(?:n)? a|ha cambiado"
    r"|no hace falta|nada de",
}
REVISES_ANYWHERE: Mapping[str, str] = {
    "zh": r"作废|放弃|不做了|不要了|不需要了|去掉|换到|改到|调整|提高"
    r"|降到|升到|延期|之前说|刚才说|的事算了|搞错|说错|变了|变成|撤销"
    r"|太[短长慢小大少多贵]"
    r"|改主意|而是|延长|缩短|弃用|废弃",
}
# words that may tell a change; another number or more words in common must support them
SHIFTS: Mapping[str, str] = {
    "en": r"now|again|make (?:that|the|it)|instead|rather|better than|actually"
    r"|(?:is|are) taken|rather than|better|regarding|as for|as to|about the|speaking of|back to"
    r"|earlier|previously|originally|used to|new|other|different|changed?|change|(?:can|could|do"
    r"|does|did|wo|would|is|are|should)(?:['’]?t|n['’]t)|cannot|can not|not|left|gone|dead|leaves"
    r"|finally|turns out|turned out|hereby|update|news|lately|meanwhile|today|as of|starting"
    r"|effective|from|switch\w*|mov(?:e|es|ed|ing)|decided|decision|fine|okay|allowed|enough"
    r"|forbid\w*|permit\w*|by now|also|still|even",
    "de": r"besser|nun|jetzt|wieder|neue[sr]?"
    r"|statt|anstelle|eigentlich|übrigens nicht|hinsichtlich|bezüglich|was .{1,30} angeht|das mit"
    r"|die sache mit|anders|neu|beschlossen|entschieden|nun doch|nicht|kein\w*|raus|weg|seit"
    r"|ab dem|ab|inzwischen|mittlerweile|heute|doch|früher|bisher|bislang|ursprünglich|wechselt"
    r"|zieht|darf|dürfen|erlaubt",
    "fr": r"maintenant|à nouveau"
    r"|désormais|nouveau|nouvelle|plutôt|impose|décidé|au fait|concernant|à propos|quant à|pas|ne"
    r"|aujourd['’]hui|dès|depuis|avant|autre|change\w*|devient|deviennent|sera|en fin de compte"
    r"|on garde|permis|autorisé",
    "es": r"ahora|mejor|otra vez"
    r"|nuev[oa]s?|respecto a|sobre|en cuanto a|decidido|cambia\w*|no|hoy|desde|antes|otr[oa]s?"
    r"|será|serán|finalmente|por fin|permitid[oa]|ahora sí|de nuevo|vuelve\w*|toca|resulta que",
    "pt": r"agora",
    "it": r"ora|adesso",
    "ru": r"теперь|снова",
}
SHIFTS_ANYWHERE: Mapping[str, str] = {
    "zh": r"现在|现改|重新|又"
    r"|改|换|不|了|新|可以|以后|其实|关于|还是|之前|原来",
    "ja": r"今は|再び",
    "ko": r"이제|다시",
}
# The first word of a plain task, which is no statement to remember.
TASKS: Mapping[str, str] = {
    "en": r"(?:(?:please|now|then|and|ok|okay|so|also|next|can you|could you|would you"
    r"|let['’]?s),? )*"
    r"(?:add|build|bump|change|check|clean|commit|compare|continue|convert|create|debug|delete"
    r"|describe|do|document|explain|extend|extract|find|fix|generate|get|give|go|have a look"
    r"|implement"
    r"|improve|inline|inspect|install|investigate|list|look|make|merge|migrate|move|open|port|print"
    r"|profile|pull|push|read|redo|refactor|remove|rename|replace|review|rewrite|run|search|see"
    r"|set up"
    r"|show|simplify|sort|speed|split|start|tell|test|tidy|try|undo|update|upgrade|verify|wire"
    r"|write)",
    "de": r"(?:(?:bitte|jetzt|nun|und|dann) )*(?:bau|behebe|beschleunige|erklär|erstelle"
    r"|entferne|füge"
    r"|lies|mach|prüfe|schau|schreib|teste|verschiebe|zeig|räum|such|sieh)e?",
    "fr": r"(?:ajoute|corrige|écris|explique|montre|teste|vérifie|regarde)"
    r"|(?:ajoute|corrige|écris|explique|montre|teste|vérifie|regarde|crée|fais|lance|supprime"
    r"|renomme|déplace|refais|mets|implémente|génère|nettoie|lis|cherche|trouve|prépare|documente"
    r"|rédige)(?:z|s)?(?:-moi)?",
    "es": r"(?:añade|arregla|escribe|explica|muestra|prueba|revisa|mira)"
    r"|(?:crea|haz|ejecuta|borra|elimina|renombra|mueve|implementa|genera|limpia|lee|busca"
    r"|encuentra|prepara|documenta|redacta|pon|cambia|actualiza|corrige|agrega)(?:me)?",
}
TASKS_ANYWHERE: Mapping[str, str] = {
    "zh": r"^(?:请|再|先|把|给|写|加|修|做|跑|看|查|检查|解释|重构)"
}
# words of a passing state or of chat, which are not worth remembering
PASSING: Mapping[str, str] = {
    "en": r"fail(?:s|ed|ing)?|flaky|broken|crash(?:es|ed)?|error|passes|green|works?|working"
    r"|doesn['’]?t"
    r"|thanks?|strange|weird|looks|seems|hello",
    "de": r"schlägt|fehler|stürzt|läuft durch|danke|seltsam|sieht|scheint",
    "fr": r"échoue|erreur|merci"
    r"|plante|casse|cassé|marche|fonctionne|bizarre|on dirait|super|bonjour|salut",
    "es": r"falla|error|gracias"
    r"|funciona|roto|rota|raro|parece|hola|bien hecho|perfecto",
}
PASSING_ANYWHERE: Mapping[str, str] = {"zh": r"失败|报错|错误|崩溃|通过了|谢谢|奇怪|看起来"}
# words of a standing rule, which does not concern the current step only
STANDING: Mapping[str, str] = {
    "en": r"never|always|any(?:thing|where|one)?|every\w*|all|nothing|no(?:body| one)|nowhere"
    r"|only|ever"
    r"|from now on|under no circumstances|forbidden|not allowed|at (?:most|least)|minimum|maximum",
    "de": r"nie|niemals|immer|alle[sn]?|jede[rsnm]?|überall|nur|keinesfalls|auf keinen fall"
    r"|verboten"
    r"|höchstens|mindestens|ab sofort",
    "fr": r"jamais|toujours|tou[ts]e?s?|partout|interdit|au (?:plus|moins)"
    r"|rien|personne|aucune?|minimum|maximum|désormais|obligatoire\w*",
    "es": r"nunca|jamás|siempre|tod[oa]s?|prohibido|como (?:máximo|mínimo)"
    r"|siempre que|nadie|nada|ningún|ninguna|mínimo|máximo|desde ahora",
    "ru": r"никогда|всегда|нельзя|вс[её]|везде|только|запрещено",
}
STANDING_ANYWHERE: Mapping[str, str] = {
    "zh": r"一律|始终|总是|永远|绝不|从不|任何|所有|全部|统一|只能|禁止|最多|至少|不许|不准",
    "ja": r"必ず|絶対|常に|すべて|全て|禁止",
    "ko": r"항상|절대|모든|반드시|금지",
}
# words that point at the current step, so that the sentence says nothing without this step
LOCAL: Mapping[str, str] = {
    "en": r"that (?!is\b)\w+|this|these|those|there|(?<!from )here|the same",
    "de": r"dies\w*|hier|dort|das ?selbe|das gleiche|zuerst|diesmal",
    "fr": r"ici|là|cette?|ces|la même"
    r"|ceci|cela|ça",
    "es": r"aquí|ahí|est[ae]s?|lo mismo"
    r"|est[oae]s?|es[oae]s?",
}
LOCAL_ANYWHERE: Mapping[str, str] = {
    "zh": r"这里|那里|这个|那个|也一样|这次|例子里",
    "ja": r"ここ|その|この",
}
# pronouns for something of the sentence before
ANAPHORS: Mapping[str, str] = {
    "en": r"it|its|it['’]s|they|them|their|those|these|that|this|one|ones|which|both",
    "de": r"das|dies\w*|es|sie|ihn|ihm|davon|dafür|darauf|damit|dazu|beide[ns]?",
    "fr": r"ça|cela|ceci|celui-ci|celle-ci|c['’]est|ils|elles",
    "es": r"eso|esto|ello",
}
ANAPHORS_ANYWHERE: Mapping[str, str] = {"zh": r"它|这|那", "ja": r"それ|これ", "ko": r"그것|이것"}
# numbers from one on
NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve",
    "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "un deux trois quatre cinq six sept huit neuf dix onze douze",
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
)
# units of which one can replace another
UNITS: Mapping[str, str] = {
    "duration": r"ms|secs?|seconds?|mins?|minutes?|hours?|days?|weeks?|months?|years?|sekunden?"
    r"|minuten?|stunden?|tagen?|tage?|wochen?|monaten?|monate?|jahren?|jahre?|secondes?|heures?"
    r"|jours?"
    r"|semaines?|mois|ans?|segundos?|minutos?|horas?|días?|semanas?|meses|mes|años?|秒|分钟|小时|天|周|年",
    "size": r"[kmgt]i?b|bytes?",
    "money": r"[€$£]|euros?|eur|dollars?|usd|pounds?|francs?|chf|pesos?|元|块",
}
# names of which one usually replaces another of the same row
NAMES: Mapping[str, str] = {
    "database": r"mysql|mariadb|postgres(?:ql)?|sqlite|oracle|mongo(?:db)?|duckdb|clickhouse"
    r"|cassandra|dynamodb|couchdb|firebird|cockroach(?:db)?|timescale(?:db)?|influx(?:db)?"
    r"|elasticsearch|opensearch|neo4j|supabase|firestore|sql server|mssql|h2",
    "store": r"redis|valkey|memcached|keydb|dragonfly",
    "broker": r"kafka|rabbitmq|nats|zeromq|pulsar|mosquitto|sqs|redpanda|celery|sidekiq",
    "manager": r"npm|pnpm|yarn|bun|pip|poetry|uv|conda|pdm|pipenv|cargo|maven|gradle|bazel|make"
    r"|cmake"
    r"|meson|just",
    "tester": r"jest|vitest|mocha|jasmine|pytest|unittest|junit|testng|rspec|minitest|playwright"
    r"|cypress|selenium|puppeteer",
    "linter": r"ruff|flake8|pylint|black|yapf|eslint|biome|prettier|oxlint|rubocop|clippy|isort",
    "web": r"django|flask|fastapi|starlette|rails|sinatra|laravel|symfony|express|fastify|nestjs"
    r"|koa"
    r"|hono|spring boot|quarkus|micronaut|gin|echo|fiber|axum|actix|rocket|phoenix",
    "interface": r"react|vue|svelte|angular|solid(?:js)?|preact|htmx|lit|ember|next(?:\.?js)?|nuxt"
    r"|remix|astro|tailwind|bootstrap|qt|gtk|tkinter|swiftui|uikit|electron|tauri|flutter",
    "tongue": r"python|rust|golang|java|kotlin|scala|typescript|javascript|ruby|php|perl|c\+\+|c#"
    r"|zig"
    r"|elixir|haskell|swift|dart|lua|ocaml",
    "style": r"rest|graphql|grpc|soap|websockets?|sse|json-rpc|polling|webhooks?",
    "format": r"jsonl?|yaml|toml|xml|csv|tsv|parquet|avro|protobuf|msgpack|ini|pdf|png|svg|jpe?g"
    r"|webp|gif"
    r"|avif|xlsx|excel|markdown|html|latex|docx|ogg|mp3|aac|opus|flac|webm|mp4|av1|hevc|h264"
    r"|feather",
    "case": r"snake_case|camelcase|kebab-case|pascalcase|screaming_snake_case|snake case"
    r"|camel case",
    "indent": r"tabs?|spaces|leerzeichen|espaces|espacios|tabuladores",
    "licence": r"mit|apache(?: 2(?:\.0)?)?|gpl(?:v[23])?|agpl|lgpl|bsd|mpl|isc",
    "zone": r"utc|gmt|cet|cest|local time|ortszeit|europe/\w+|america/\w+|asia/\w+|heure locale"
    r"|hora local",
    "language": r"english|german|french|spanish|chinese|dutch|italian|portuguese|japanese|englisch"
    r"|deutsch|französisch|spanisch|anglais|français|allemand|espagnol|inglés|español|francés"
    r"|alemán"
    r"|英文|中文|英语|汉语|日语",
    "day": r"mon|tues|wednes|thurs|fri|satur|sun|montag|dienstag|mittwoch|donnerstag|freitag"
    r"|samstag"
    r"|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves"
    r"|viernes|sábado|domingo|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:星期|周)[一二三四五六日天]",
    "place": r"aws|gcp|azure|hetzner|digitalocean|heroku|fly\.io|vercel|netlify|cloudflare"
    r"|on-?prem\w*"
    r"|github|gitlab|gitea|forgejo|bitbucket|codeberg|jenkins",
    "runner": r"docker|podman|kubernetes|k8s|nomad|systemd|docker compose|helm|kustomize|terraform"
    r"|pulumi|ansible|nix",
    "payment": r"stripe|paypal|mollie|adyen|braintree|square|klarna|redsys|payfip|bizum|paddle",
    "hue": r"red|green|blue|yellow|orange|purple|grey|gray|black|white|teal|violet|rot|grün|blau"
    r"|gelb"
    r"|schwarz|weiß|rouge|vert|bleu|jaune|noir|blanc|rojo|verde|azul|amarillo|negro|blanco",
    "system": r"linux|windows|macos|debian|ubuntu|fedora|alpine|freertos|zephyr|android|ios|nixos"
    r"|arch",
    "hash": r"md5|sha-?1|sha-?256|sha-?512|bcrypt|scrypt|argon2(?:id)?|pbkdf2|blake[23]b?",
    "session": r"jwt|cookies?|oauth2?|saml|basic auth|api keys?|sessions?|magic links?|passkeys?",
    "extent": r"light|dark|hell|dunkel|clair|sombre|claro|oscuro",
}
_EMPTY = """
is it in on at of to or an as be by do go he if me my no so up us we am
ab am da du er es ob um wo zu im le la de en et un il ne se ce el lo al su mi ya si
about after again all also and any are back been before but can could did does don down each even
ever every everything for from get give goes had has have here how instead into isn its just keep
let like long longer made make many may mind more most much must need never new next not now off old
once one only other our out over own please rather really same say should some still such than that
the their them then there these they this those time too two under until use used uses using very
want was way were what when where which while who why will with without would you your actually
always changed forget
der die das den dem des ein eine einen einem einer und oder aber auch auf aus bei bis für ist sind
war mit nach nicht noch nur von vor wir wird werden zum zur doch jetzt mehr schon sich sie ich man
wie was wenn immer nie keine kein bitte nehmen lieber statt
les des une est sont pas pour dans avec sur que qui los las una por para con del
"""
EMPTY = frozenset(_EMPTY.split())
EMPTY_WIDE = frozenset(
    "的了是在不要用就我们你们他它这那和与或有没为以后再先还都也一个请把给被从到对改成换"
)
