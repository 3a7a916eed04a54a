"""Lists the words by which sentences of the user are recognised, for each language. Pure data."""

from __future__ import annotations

# ruff: noqa: RUF001 -- words and marks of many scripts are meant
from collections.abc import Mapping

# The pattern matches the beginning of an imperative.
_BEGINS = r"(?:^|[,;:(]\s*|\b(?:please|and|but|so|also|just|you|then)\s+)"

STRICT: Mapping[str, str] = {  # words such as never, always, must, only, forbidden
    "en": rf"must|never|always|{_BEGINS}(?:do not|don['’]?t|only)|not allowed"
    r"|forbidden|prohibited|under no circumstances|whatever you do|hands off|off[- ]limits"
    r"|ha(?:s|ve) to|important that|required|in all cases|from now on",
    "de": r"nie|niemals|immer|muss|musst|müssen|müsst|d(?:arf|ürfen)\b.{0,60}\bnicht"
    r"|auf keinen fall|unter keinen umständen|verboten|grundsätzlich",
    "fr": r"jamais|toujours|doit|dois|doivent|il faut|interdit",
    "es": r"nunca|jamás|siempre|debe|debes|deben|prohibido",
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
    "en": rf"{_BEGINS}(?:use|keep|leave|avoid|make sure|ensure|prefer|without|stick to|remember)"
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
    r"|i(?:['’]d)? (?:like|want|love|hate)|switch(?:ed)? to|call it|named?|called|remember"
    r"|no,? not|my name",
    "de": r"wir (?:nehmen|bleiben|wählen|verwenden|nutzen)|entschieden|beschlossen|gewählt"
    r"|lieber|statt"
    r"|stattdessen|heißt|heißen|mein name|einigten|geeinigt|bevorzuge",
    "fr": r"on part sur|on prend|nous prenons|décidé|choisi|plutôt|s['’]appelle",
    "es": r"usaremos|vamos con|decidido|elegimos|prefiero|se llama",
    "pt": r"usaremos|vamos com|decidimos|prefiro|chama-se",
    "it": r"usiamo|usiamo|deciso|scelto|preferisco|si chiama",
    "ru": r"решили|выбрали|возьмём|возьмем|предпочитаю|называется",
}
CHOICE_ANYWHERE: Mapping[str, str] = {
    "en": r"\w, (?:and )?not\b",
    "zh": r"决定|就用|选用|选择|采用|我们用|改用|改成|改为|换成"
    r"|项目名|名字叫|我叫|[端擎库架]选|引擎用|负责人",
    "ja": r"にします|に決め|を選び|という名前",
    "ko": r"로 하자|하기로|선택|라고 부",
}
# words of a task that is put off or not done yet
LATER: Mapping[str, str] = {
    "en": r"later|still (?:have to|has to|need(?:s|ed)?|to do|missing|open)|not done yet"
    r"|isn['’]t .{0,40}yet"
    r"|remind me|(?:has|have|can|must) (?:to )?wait|put off|postpone[ds]?|come back to|todo"
    r"|don['’]?t (?:let me )?forget|for the end|on the list|not yet|unfinished|left to do",
    "de": r"später|nicht vergessen|noch (?:nicht|offen|gemacht|zu)|fehlt noch|fehlen noch"
    r"|verschoben"
    r"|müssen noch|muss noch|zurückgestellt",
    "fr": r"plus tard|pas encore|il reste|reporté|semaine prochaine",
    "es": r"más tarde|todavía no|falta|pendiente|semana que viene",
    "pt": r"mais tarde|ainda não|falta|pendente",
    "it": r"più tardi|non ancora|manca|rimandato",
    "ru": r"позже|ещё не|еще не|осталось|отложим|потом",
}
LATER_ANYWHERE: Mapping[str, str] = {
    "zh": r"以后再|之后再|稍后|回头再|还没|别忘|没完成|没做|未完成|先放|暂时不|推后|待办",
    "ja": r"後で|あとで|まだ|来週|忘れないで",
    "ko": r"나중에|아직|다음 주|잊지",
}
# words that certainly take an earlier statement back or change the statement
CHANGES: Mapping[str, str] = {
    "en": r"no longer|any ?more|changed my mind|change of plan|forget (?:about|it|the)|never mind"
    r"|scratch|correction|after all|dropped|drop the|switch(?:ed)? to|instead of|moved|is gone"
    r"|was lifted|(?:is|are) back|i was wrong|from here on|not .{1,40} but|no,? not"
    r"|(?:is|are) too (?:slow|short|long|small|large|big|low|high|much|many)",
    "de": r"doch nicht|doch lieber|vom tisch|nicht mehr|vergiss|stattdessen|geändert"
    r"|ändert sich|verschoben|korrektur|ab sofort|sondern",
    "fr": r"finalement|ne .{1,40} plus|oublie|plutôt|désormais|correction|en fait",
    "es": r"ya no|al final|olvida|corrección|en realidad",
    "pt": r"já não|afinal|esqueça|correção|na verdade",
    "it": r"non più|alla fine|dimentica|correzione|in realtà",
    "ru": r"больше не|передумал|забудь|всё-таки|поправка|на самом деле",
}
CHANGES_ANYWHERE: Mapping[str, str] = {
    "zh": r"改为|改成|改用|换成|不再|不用了|取消|算了|推迟|提前|更正|还是用|恢复",
    "ja": r"やめ|変更し|やはり|もう使わ|訂正|になりました",
    "ko": r"대신|더 이상|취소|바꾸|변경|정정",
}
# words that may tell a change; another number or more words in common must support them
SHIFTS: Mapping[str, str] = {
    "en": r"now|again|make (?:that|the|it)|instead|rather|better than|actually",
    "de": r"besser|nun|jetzt|wieder|neue[sr]?",
    "fr": r"maintenant|à nouveau",
    "es": r"ahora|mejor|otra vez",
    "pt": r"agora",
    "it": r"ora|adesso",
    "ru": r"теперь|снова",
}
SHIFTS_ANYWHERE: Mapping[str, str] = {
    "zh": r"现在|现改|重新|又",
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
    "fr": r"(?:ajoute|corrige|écris|explique|montre|teste|vérifie|regarde)",
    "es": r"(?:añade|arregla|escribe|explica|muestra|prueba|revisa|mira)",
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
    "fr": r"échoue|erreur|merci",
    "es": r"falla|error|gracias",
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
    "fr": r"jamais|toujours|tou[ts]e?s?|partout|interdit|au (?:plus|moins)",
    "es": r"nunca|jamás|siempre|tod[oa]s?|prohibido|como (?:máximo|mínimo)",
    "ru": r"никогда|всегда|нельзя|вс[её]|везде|только|запрещено",
}
STANDING_ANYWHERE: Mapping[str, str] = {
    "zh": r"一律|始终|总是|永远|绝不|从不|任何|所有|全部|统一|只能|禁止|最多|至少|不许|不准",
    "ja": r"必ず|絶対|常に|すべて|全て|禁止",
    "ko": r"항상|절대|모든|반드시|금지",
}
# words that point at the current step, so that the sentence says nothing without this step
LOCAL: Mapping[str, str] = {
    "en": r"that (?!is\b)\w+|this|these|those|there|here|the same",
    "de": r"dies\w*|hier|dort|das ?selbe|das gleiche|zuerst|diesmal",
    "fr": r"ici|là|cette?|ces|la même",
    "es": r"aquí|ahí|est[ae]s?|lo mismo",
}
LOCAL_ANYWHERE: Mapping[str, str] = {
    "zh": r"这里|那里|这个|那个|也一样|这次|例子里",
    "ja": r"ここ|その|この",
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
