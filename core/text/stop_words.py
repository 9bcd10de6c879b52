"""The commonest function words of the languages that we can stem: they tell languages apart, not topics."""

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.casefold().split())
    for language, words in {
        "en": (
            "a about all an and any are as at be been between but by can could did do does during each "
            "for from had has have he her his how i if in into is it its may might my no not of on or our "
            "per s she should so t than that the their them then there these they this those to us was we "
            "were what when where which who whom why will with would you your"
        ),
        "de": (
            "aber alle als am an auch auf aus bei bis das dass dem den der des die diese dieser durch ein "
            "eine einem einen einer eines er es für gab gibt haben hat hatte ich ihr ihre im in ist kann "
            "man mit nach nicht noch nur oder seine sich sie sind so sowie um und unter vom von vor war "
            "waren warum was welche welchem welchen welcher welches wenn wer werden wie wird wo wurde "
            "wurden zu zum zur über"
        ),
        "es": (
            "a al como con cual cuales cuando cuál cuáles cuándo cómo de del desde donde durante dónde e "
            "el en entre era es esta este estos está fue fueron ha han hasta hay la las le les lo los muy "
            "más no o para pero por porque que quien quién qué se ser si sin sobre son su sus también "
            "tiene un una uno unos y ya"
        ),
        "fr": (
            "a au aux avec ce ces cette comme d dans de des donc du elle elles en est et eu il ils j je l "
            "la le les leur leurs lui m mais même n ne nous on ont ou où par pas plus pour qu quand que "
            "quel quelle quelles quels qui s sa se ses son sont sur un une vous y à était été être"
        ),
        "it": (
            "a ad ai al alla alle anche che chi ci come con cosa da dal dalla degli dei del della delle "
            "dello di dove e ed era gli ha hanno i il in io l la le lo ma nel nella nelle non o per "
            "perché più quale quali quando quanto questa questo se si sia sono su sua sul sulla suo tra "
            "un una uno è"
        ),
        "pt": (
            "a ao aos as com como da das de do dos e ela ele em entre era essa esta este está eu foi "
            "foram há isso já mais mas na nas no nos não o onde os ou para pela pelo por porque quais "
            "qual quando que quem se sem ser seu seus sobre sua suas são também tem um uma à às é"
        ),
        "nl": (
            "aan als bij dan dat de der deze die dit door een en er had heeft het hij hoe hun ik in is je "
            "kan maar meer met naar niet nog of om onder ook op over te tot uit van veel voor waar waarom "
            "was wat we welke werd wie worden wordt zij zijn zo zou"
        ),
        "ru": (
            "а без был была были было быть в вы для до его ее если есть еще же за и из или им их к как "
            "какая какие какой когда которые который кто ли мы на не него нет но о об он она они от по "
            "почему при с со так также то только у чего что чтобы это этот я"
        ),
        "sv": (
            "att av de den det detta där efter eller en ett från för ha hade han har hon hur här i in "
            "inte jag kan man med mellan men och om på sig ska som till under upp vad var vara varför vid "
            "vilka vilken vilket än är över"
        ),
        "da": (
            "af at blev blive da de den der det dette du efter eller en er et for fra han har havde hun "
            "hvad hvem hvilke hvilken hvor hvordan hvorfor i ikke jeg kan man med mellem men og også om "
            "over på sig skal som til var ved være"
        ),
        "no": (
            "at av ble blir da de den der det dette du eller en er et etter for fra ha hadde han har hun "
            "hva hvem hvilke hvilken hvor hvordan hvorfor i ikke jeg kan man med mellom men og også om "
            "over på seg skal som til var ved være"
        ),
        "fi": (
            "ei eli että hän ja joka jos jotka kanssa kuin kuka kun me miksi mikä missä miten mitkä mitä "
            "mutta myös ne niin oli olivat olla on ovat se sekä sen siitä tai tämä vain voi"
        ),
        "pl": (
            "a ale był była było były co czy dla do gdzie go i ich ile jak jaki jakie jako jego jej jest "
            "już kiedy kto która które który lub ma na nie o od oraz po pod przez przy się są tak to tym "
            "w we z za ze że"
        ),
        "cs": (
            "a aby ale ani by byl byla byli bylo být co do i jak jako je jeho jejich její jsem jsou k kde "
            "kdo kdy která které který mezi na nebo o od po pro proč před při s se si ta tak také to u v "
            "ve z za ze že"
        ),
        "ro": (
            "a ai al ale au au care ce cele cu cum când că da de despre din ei el era este fi fost la lor "
            "lui mai nu o pe pentru prin sau se sunt să un una unde unei unui în într și"
        ),
        "hu": (
            "a amely az azt csak de egy ez ha hogy hol is ki között meg mely mi mikor milyen mint mit "
            "miért már még nem szerint után vagy van volt által és"
        ),
        "tr": (
            "ama bir bu da daha de değil en gibi hangi ile ise için kadar kim mi mu mü mı nasıl ne neden "
            "nerede olan olarak olduğu sonra ve veya ya çok"
        ),
        "el": (
            "ένα ήταν από αυτό για δεν είναι η και με μια να ο οι ποια ποιο ποιος που πού πως πότε στη "
            "στην στο στον τα τη την της τι τις το τον του των ως"
        ),
        "ar": (
            "أن أو إلى التي الذي الذين ثم على عن عند في قد كان كانت كم كما كيف لا لم لماذا ما متى مع من "
            "هذا هذه هل هو هي و وقد ولا"
        ),
        "hi": (
            "इस एक और कब कहाँ का कि कितने किस की के को कौन क्या जो तो था थी थे नहीं ने पर भी में यह लिए वह से ही है हैं हो"
        ),
    }.items()
}
