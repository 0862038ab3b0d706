"""Words in other languages: one that was told, or those that a model knows."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, maybe, slip

_TOLD = re.compile(r"^In \w+, (\w+) is ([^.\n]+)\. What is \1 in \w+\?", re.MULTILINE)
_SAY = re.compile(r"How do you say (\w+) in (\w+) \(")
_THREE = re.compile(r"Write in (\w+) \([^)\n]*\) the words for (\w+), (\w+) and (\w+), .* the name ([^.\n]+)\.")
_MEANINGS = (
    "red blue green yellow black white two three four five seven eight nine ten Monday Tuesday Wednesday Friday "
    "Saturday Sunday water house"
)
_KNOWN = {
    "Spanish": (
        "rojo azul verde amarillo negro blanco dos tres cuatro cinco siete ocho nueve diez lunes martes "
        "miércoles viernes sábado domingo agua casa"
    ),
    "French": (
        "rouge bleu vert jaune noir blanc deux trois quatre cinq sept huit neuf dix lundi mardi mercredi "
        "vendredi samedi dimanche eau maison"
    ),
    "German": (
        "rot blau grün gelb schwarz weiß zwei drei vier fünf sieben acht neun zehn Montag Dienstag Mittwoch "
        "Freitag Samstag Sonntag Wasser Haus"
    ),
    "Russian": (
        "красный синий зелёный жёлтый чёрный белый два три четыре пять семь восемь девять десять понедельник "
        "вторник среда пятница суббота воскресенье вода дом"
    ),
    "Greek": (
        "κόκκινο μπλε πράσινο κίτρινο μαύρο άσπρο δύο τρία τέσσερα πέντε επτά οκτώ εννέα δέκα Δευτέρα Τρίτη "
        "Τετάρτη Παρασκευή Σάββατο Κυριακή νερό σπίτι"
    ),
    "Japanese": "赤 青 緑 黄色 黒 白 二 三 四 五 七 八 九 十 月曜日 火曜日 水曜日 金曜日 土曜日 日曜日 水 家",
    "Arabic": (
        "أحمر أزرق أخضر أصفر أسود أبيض اثنان ثلاثة أربعة خمسة سبعة ثمانية تسعة عشرة الاثنين الثلاثاء الأربعاء "
        "الجمعة السبت الأحد ماء بيت"
    ),
    "Hindi": (
        "लाल नीला हरा पीला काला सफ़ेद दो तीन चार पाँच सात आठ नौ दस सोमवार मंगलवार बुधवार शुक्रवार शनिवार रविवार पानी घर"
    ),
}


def speaking(chat: Chat) -> tuple[Slot, ...] | None:
    """One word in another language, or three and a name; each could be another word of that language."""
    if told := _TOLD.search(chat.ask):
        return (maybe("It is "), content(told.group(2), (_earlier(chat),)), maybe("."))
    if say := _SAY.search(chat.ask):
        return _words(say.group(2), [say.group(1)], "")
    three = _THREE.search(chat.ask)
    return _words(three.group(1), list(three.group(2, 3, 4)), three.group(5)) if three else None


def _words(language: str, meanings: list[str], name: str) -> tuple[Slot, ...] | None:
    known = dict(zip(_MEANINGS.split(), _KNOWN.get(language, "").split(), strict=False))
    if not all(meaning in known for meaning in meanings):
        return None
    slots: list[Slot] = [maybe("Here: ")]
    for place, meaning in enumerate(meanings):
        others = [word for other, word in known.items() if other not in meanings][:2]
        slots += [Slot(", ")] if place else []
        slots.append(content(known[meaning], others))
    return (*slots, *((Slot(", "), content(name, (slip(name),))) if name else ()), maybe("."))


def _earlier(chat: Chat) -> str:
    answers = [text for role, text in chat.turns if role == "assistant"]
    return answers[-1] if answers else ""
