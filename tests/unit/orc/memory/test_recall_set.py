"""Recall of statements from 120 turns ago, over a small set in twelve languages."""

import pytest

from devkit.fakes import WordCounter
from devkit.remembered_turns import CITED, NOTED, answered
from orc.conversations.models import Turn
from orc.memory.models import Memory
from orc.memory.recall import Selection
from orc.memory.service import add_turns

COUNTER = WordCounter()
LATER = 120

SAID = [
    ("en", "My badge number is 7431-K.", "What is my badge number?"),
    ("en", "Our project is called Halberd.", "What's the name of our project again?"),
    ("en", "Please remember that the deposit is due on 3 May.", "When did I say the deposit is due?"),
    ("en", "The landlord of the Leeds office is Mr Okafor.", "Who is the landlord of the Leeds office?"),
    ("en", "For the audit we chose Weller & Partners.", "Whom did we choose for the audit?"),  # prose: data
    ("en", "Hello, I work in Leeds. What is the fee?", "Where do I work?"),
    ("en", "The migration has to be finished before Easter.", "By when must the migration be finished?"),
    ("de", "Unser Projekt heißt Halberd.", "Wie heißt unser Projekt?"),
    ("de", "Merke dir, dass die Kaution am 3. Mai fällig ist.", "Wann ist die Kaution fällig?"),
    ("de", "Mein Urlaub beginnt am 5. Mai.", "Wann beginnt mein Urlaub?"),
    ("de", "Der Vermieter des Büros ist Herr Okafor.", "Wer ist der Vermieter des Büros?"),
    ("de", "Die Prüfung übernimmt Weller.", "Wer übernimmt die Prüfung?"),
    ("fr", "Notre projet s'appelle Halberd.", "Comment s'appelle notre projet ?"),
    ("fr", "Le propriétaire du bureau est M. Okafor.", "Qui est le propriétaire du bureau ?"),
    ("fr", "Mon budget est de 500 euros.", "Quel est mon budget ?"),
    ("fr", "La migration doit finir avant Pâques.", "Quand la migration doit-elle finir ?"),
    ("es", "Nuestro proyecto se llama Halberd.", "¿Cómo se llama nuestro proyecto?"),
    ("es", "El dueño de la oficina es el señor Okafor.", "¿Quién es el dueño de la oficina?"),
    ("es", "Mi presupuesto es de 500 euros.", "¿Cuál es mi presupuesto?"),
    ("es", "La migración tiene que acabar antes de Pascua.", "¿Cuándo tiene que acabar la migración?"),
    ("it", "Il mio badge ha il numero 7431-K.", "Qual è il numero del mio badge?"),
    ("it", "Il nostro progetto si chiama Alabarda.", "Come si chiama il nostro progetto?"),
    ("it", "Il padrone dell'ufficio è il signor Okafor.", "Chi è il padrone dell'ufficio?"),
    ("pt", "O meu orçamento é de 500 euros.", "Qual é o meu orçamento?"),
    ("pt", "O nosso projeto chama-se Alabarda.", "Como se chama o nosso projeto?"),
    ("nl", "Mijn pasnummer is 7431-K.", "Wat is mijn pasnummer?"),
    ("nl", "Ons project heet Hellebaard.", "Hoe heet ons project?"),
    ("sv", "Mitt passnummer är 7431-K.", "Vad är mitt passnummer?"),
    ("pl", "Nasz projekt nazywa się Halabarda.", "Jak nazywa się nasz projekt?"),
    ("pl", "Mój budżet wynosi 500 euro.", "Ile wynosi mój budżet?"),
    ("tr", "Projemizin adı Teber.", "Projemizin adı nedir?"),
    ("ru", "Наш проект называется Алебарда.", "Как называется наш проект?"),
    ("ru", "Мой бюджет составляет 500 евро.", "Сколько составляет мой бюджет?"),
    ("zh", "我们的项目叫长戟。", "我们的项目叫什么?"),
    ("zh", "我的预算是五百欧元。", "我的预算是多少?"),
    ("ja", "私たちのプロジェクトはハルバードです。", "私たちのプロジェクトは何ですか?"),
]
"""A language, what the user says, and the question about it later."""

OTHERS = [
    ("What does section {n} of the handbook say?", CITED),
    ("Thank you, that helps with point {n}.", NOTED),
    ("How many days of leave does group {n} get?", CITED),
    ("My colleague in office {n} likes the report.", NOTED),
    ("Compare clause {n} with the annex.", CITED),
]


def conversation(said: str, question: str = "") -> list[Turn]:
    """The statement in turn 3, then 120 turns about other things."""
    turns = [answered(1, "Hello!"), answered(2, OTHERS[0][0].format(n=2), CITED), answered(3, said)]
    for n in range(4, LATER + 4):
        asked, answer = OTHERS[n % len(OTHERS)]
        turns.append(answered(n, asked.format(n=n), answer))
    return turns


def remembered(turns: list[Turn]) -> Memory:
    """The memory after it processed the turns one by one."""
    memory = Memory()
    for turn in turns:
        memory = add_turns(memory, [turn], turn.seq, COUNTER)
    return memory


async def place_of(said: str, question: str) -> int | None:
    """The position of the statement in what is recalled for the question; None if it is not recalled."""
    recalled = await Selection(800, COUNTER).choose(question, remembered(conversation(said)))
    texts = [*(note.text for note in recalled.notes), *(point.text for point in recalled.summary)]
    found = [place for place, text in enumerate(texts, 1) if said.split(". What")[0].rstrip(".") in text]
    return found[0] if found else None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "said", "question"), SAID, ids=[f"{each[0]}: {each[1]}" for each in SAID]
)
async def test_statement_of_120_turns_ago_is_recalled_first(language: str, said: str, question: str) -> None:
    assert await place_of(said, question) == 1


async def test_an_unrelated_question_recalls_no_statement() -> None:
    memory = remembered(conversation("My badge number is 7431-K."))
    recalled = await Selection(800, COUNTER).choose("Which colour does the car have?", memory)
    assert recalled.notes == []
