"""Words that say nothing about what a question is about, in the languages that the offline model knows."""

_STOPWORDS = {
    "english": """a about above according after again all also am an and any are as asked at be because been
        before being between both but by can could describe did do does doing during each explain few find for
        from further get give given had has have having he her here hers him his how i if in into is it its
        itself just kind know let list make many me mean mentioned mentions might more most much must my name
        no nor not of off on once one only or other our out over own part please provide provided regarding
        s said same say says shall she should show so some such take tell text than that the their them then
        there these they this those through to too under until up upon us use used using very was we were what
        when where whether which while who whom whose why will with within would you your document documents
        file files page pages attached d ll re ve t m""",
    "german": """aber alle allem allen aller alles als also am an auch auf aus bei bin bis bitte da damit dann
        das dass dein dem den denn der des dessen die dies diese diesem diesen dieser dieses doch dort du durch
        ein eine einem einen einer eines er es etwas euch für gegen gibt haben hat hatte hatten hier ich ihm ihn
        ihr ihre ihrem ihren im in ins ist ja jede jedem jeden jeder jetzt kann kein keine können laut mehr mein
        mit muss nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so
        sollte sondern über um und uns unter viel viele vom von vor war waren warum was welche welchem welchen
        welcher welches wem wen wenn wer werden wessen wie wieviel wir wird wo wurde wurden zu zum zur zwischen
        lautet heißt""",
    "spanish": """a al algo algunos ante antes como con contra cual cuál cuales cuáles cuando cuándo cuanto
        cuánto cuántos cuantos cuánta cuántas de del desde donde dónde dos e el él ella ellos en entre era eran
        es esa ese eso esta está estaba están este esto estos fue fueron ha había han hasta hay la las le les
        lo los más me mi muy no nos o para pero por porque qué que quien quién quienes quiénes se según ser si
        sí sido sin sobre son su sus también tan tiene tienen todo todos tras tu un una uno unos y ya""",
    "french": """à au aux avec c ce ces cet cette combien comme comment d dans de des dont du elle elles en
        entre est et été être eu il ils j je l la le les leur leurs lors lui m ma mais me même mes moi mon n ne
        nos notre nous on ont ou où par pas plus pour pourquoi qu quand que quel quelle quelles quels qui quoi
        s sa sans se selon ses si son sont sous sur t ta te tes toi ton tous tout tu un une vos votre vous y""",
    "italian": """a ad agli ai al alla alle anche che chi ci come con cosa cui da dagli dai dal dalla dalle
        degli dei del della delle dello di dove e è ed era erano essere fra gli ha hanno i il in io la le lei
        lo loro lui ma mi molto nei nel nella nelle noi non o per perché più qual quale quali quando quanti
        quanto questa queste questi questo se si sono sua sue sugli sui sul sulla suo tra tu un una uno voi""",
    "portuguese": """a ao aos as até com como da das de dela dele do dos e é ela ele eles em entre era essa
        esse esta está este eu foi foram há isso isto já lhe mais mas me muito na não nas nem no nos o onde os
        ou para pela pelo por porque qual quais quando quanto quantos que quem são se sem ser seu seus sobre
        sua suas também te tem um uma você""",
}
STOPWORDS = {language: frozenset(words.split()) for language, words in _STOPWORDS.items()}


def guess_language(words: list[str]) -> str:
    """The language most of whose stop words are among `words`; English where none stands out."""
    hits = {language: sum(word in stops for word in words) for language, stops in STOPWORDS.items()}
    best = max(hits, key=lambda language: hits[language])
    return best if hits[best] > hits["english"] else "english"
