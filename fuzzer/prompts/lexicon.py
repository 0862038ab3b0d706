"""A small dictionary: everyday words in eight languages, with their usual variants.

The first variant of a word is the one that is expected; the others are as right. A word is in the dictionary only where
no other reading of the English word is likely, and where no variant is another one cut short.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

_TABLES = {
    "Spanish": (
        "español",
        "red=rojo,roja,rojos,rojas; blue=azul,azules; green=verde,verdes; yellow=amarillo,amarilla; "
        "black=negro,negra; white=blanco,blanca; two=dos; three=tres; four=cuatro; five=cinco; seven=siete; "
        "eight=ocho; nine=nueve; ten=diez; Monday=lunes; Tuesday=martes; Wednesday=miércoles; Friday=viernes; "
        "Saturday=sábado; Sunday=domingo; water=agua; house=casa",
    ),
    "French": (
        "français",
        "red=rouge,rouges; blue=bleu,bleue; green=vert,verte; yellow=jaune,jaunes; black=noir,noire; "
        "white=blanc,blanche; two=deux; three=trois; four=quatre; five=cinq; seven=sept; eight=huit; nine=neuf; "
        "ten=dix; Monday=lundi; Tuesday=mardi; Wednesday=mercredi; Friday=vendredi; Saturday=samedi; "
        "Sunday=dimanche; water=eau; house=maison",
    ),
    "German": (
        "Deutsch",
        "red=rot,rote,roter,rotes,roten; blue=blau,blaue,blauer,blaues; green=grün,gruen,grüne,grüner,grünes; "
        "yellow=gelb,gelbe,gelber,gelbes; black=schwarz,schwarze,schwarzer,schwarzes; "
        "white=weiß,weiss,weiße,weißer,weißes; two=zwei,zwo; three=drei; four=vier; five=fünf,fuenf; "
        "seven=sieben; eight=acht; nine=neun; ten=zehn; Monday=Montag; Tuesday=Dienstag; Wednesday=Mittwoch; "
        "Friday=Freitag; Saturday=Samstag,Sonnabend; Sunday=Sonntag; water=Wasser; house=Haus",
    ),
    "Russian": (
        "русский",
        "red=красный,красная,красное,красные; blue=синий,синяя,синее,голубой; green=зелёный,зелёная,зелёное; "
        "yellow=жёлтый,жёлтая,жёлтое; black=чёрный,чёрная,чёрное; white=белый,белая,белое; two=два,две; "
        "three=три; four=четыре; five=пять; seven=семь; eight=восемь; nine=девять; ten=десять; "
        "Monday=понедельник; Tuesday=вторник; Wednesday=среда,среду; Friday=пятница,пятницу; "
        "Saturday=суббота,субботу; Sunday=воскресенье,воскресение; water=вода,воду; house=дом",
    ),
    "Greek": (
        "ελληνικά",
        "red=κόκκινο,κόκκινος,κόκκινη; blue=μπλε,γαλάζιο,γαλάζιος; green=πράσινο,πράσινος,πράσινη; "
        "yellow=κίτρινο,κίτρινος,κίτρινη; black=μαύρο,μαύρος,μαύρη; white=άσπρο,λευκό,άσπρος,λευκός,άσπρη,λευκή; "
        "two=δύο; three=τρία,τρεις; four=τέσσερα,τέσσερις,τέσσερεις; five=πέντε; seven=επτά,εφτά; "
        "eight=οκτώ,οχτώ; nine=εννέα,εννιά; ten=δέκα; Monday=Δευτέρα; Tuesday=Τρίτη; Wednesday=Τετάρτη; "
        "Friday=Παρασκευή; Saturday=Σάββατο; Sunday=Κυριακή; water=νερό; house=σπίτι",
    ),
    "Japanese": (
        "日本語、にほんご、ニホンゴ",
        "red=赤,赤い,赤色,あか,あかい; blue=青,青い,青色,あお,あおい; green=緑,緑色,みどり; "
        "yellow=黄色,黄色い,きいろ,きいろい; black=黒,黒い,黒色,くろ,くろい; white=白,白い,白色,しろ,しろい; "
        "two=二,二つ,ふたつ; three=三,三つ,みっつ; four=四,四つ,よっつ; five=五,五つ,いつつ; "
        "seven=七,七つ,ななつ; eight=八,八つ,やっつ; nine=九,九つ,ここのつ; ten=十; water=水,お水,みず; "
        "house=家,いえ",
    ),
    "Arabic": (
        "العربية",
        "red=أحمر,حمراء; blue=أزرق,زرقاء; green=أخضر,خضراء; yellow=أصفر,صفراء; black=أسود,سوداء; "
        "white=أبيض,بيضاء; Monday=الاثنين; Tuesday=الثلاثاء; Wednesday=الأربعاء; Friday=الجمعة; Saturday=السبت; "
        "Sunday=الأحد; water=ماء; house=بيت,منزل",
    ),
    "Hindi": (
        "हिन्दी",
        "red=लाल; blue=नीला,नीली,नीले; green=हरा,हरी,हरे; yellow=पीला,पीली,पीले; black=काला,काली,काले; "
        "white=सफ़ेद,सफेद,श्वेत; two=दो; three=तीन; four=चार; five=पाँच,पांच; seven=सात; eight=आठ; nine=नौ; "
        "ten=दस; Monday=सोमवार; Tuesday=मंगलवार; Wednesday=बुधवार; Friday=शुक्रवार; Saturday=शनिवार; "
        "Sunday=रविवार; water=पानी,जल; house=घर,मकान",
    ),
}


@dataclass(frozen=True)
class Language:
    """A language: its English name, its name for itself in its own script, and its words by English meaning."""

    name: str
    endonym: str
    table: str

    @cached_property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The variants of every word, the expected one first."""
        entries = (entry.strip().partition("=") for entry in self.table.split(";"))
        return {meaning: tuple(each.strip() for each in variants.split(",")) for meaning, _, variants in entries}


LANGUAGES = {name: Language(name, endonym, table) for name, (endonym, table) in _TABLES.items()}
