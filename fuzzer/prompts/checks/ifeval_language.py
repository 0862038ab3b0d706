"""In which language is a text? Told by its script, and among languages of one script by their commonest small words.

Good for a paragraph, not for a phrase: where the signs are too few, nothing is said.
"""

from __future__ import annotations

import re

_SAMPLE = 20_000  # characters looked at from each end of a text
_FEW_LETTERS = 12  # fewer tell nothing
_FEW_VOTES = 3  # words of a language that must be seen before it is named
_CLEAR = 2.0  # times as many votes as any other language has
_OWN_SCRIPT = 0.6  # share of the letters; names and terms may stand in another script
_KANA = 0.05  # share of kana that tells Japanese from Chinese
_WORD = re.compile(r"[^\s\d_.,;:!?।،؛؟…\"'«»()\[\]{}*#/\\|<>-]+")  # vowel signs of Indic scripts belong to their words

_SCRIPTS = {
    "latin": re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"),
    "cyrillic": re.compile("[\u0400-\u052f]"),
    "greek": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
    "arabic": re.compile("[\u0620-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]"),
    "hebrew": re.compile("[\u05d0-\u05ea]"),
    "devanagari": re.compile("[\u0900-\u097f]"),
    "bengali": re.compile("[\u0980-\u09ff]"),
    "gurmukhi": re.compile("[\u0a00-\u0a7f]"),
    "gujarati": re.compile("[\u0a80-\u0aff]"),
    "tamil": re.compile("[\u0b80-\u0bff]"),
    "telugu": re.compile("[\u0c00-\u0c7f]"),
    "kannada": re.compile("[\u0c80-\u0cff]"),
    "malayalam": re.compile("[\u0d00-\u0d7f]"),
    "sinhala": re.compile("[\u0d80-\u0dff]"),
    "thai": re.compile("[\u0e00-\u0e7f]"),
    "georgian": re.compile("[\u10a0-\u10ff]"),
    "armenian": re.compile("[\u0530-\u058f]"),
    "hangul": re.compile("[\uac00-\ud7af\u1100-\u11ff]"),
    "kana": re.compile("[\u3040-\u30ff]"),
    "han": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
}

_ALONE = {
    "el": "greek", "he": "hebrew", "bn": "bengali", "pa": "gurmukhi", "gu": "gujarati", "ta": "tamil", "te": "telugu",
    "kn": "kannada", "ml": "malayalam", "si": "sinhala", "th": "thai", "ka": "georgian", "hy": "armenian",
    "ko": "hangul",
}  # fmt: skip
"""Languages that have a script to themselves, as far as models write it."""

_WORDS = {
    "latin": {
        "en": "the and of to is that it for was with are this be have not you they from which there would will what",
        "es": "el los las que y en una por con para es del está pero como más muy su sus lo también son este esta hay",
        "pt": "o os que e em uma por com para é do da não mas como mais muito seu sua também são isso ao na no dos das",
        "fr": "le les des et est une dans que pour pas qui sur avec plus au ce cette sont il elle vous nous mais aux",
        "it": "il che di è una per con non del della sono anche come più gli nel alla questo questa lo ma ed ha dei le",
        "de": "der die das und ist nicht ein eine mit für auf den dem zu von im auch sich wird werden sind wir ich aus",
        "nl": "de het een en van is dat niet op met voor zijn aan ook er maar wordt naar deze bij ik je om worden",
        "sv": "och att det är som en av för på med inte den till har jag ett om de kan också från eller vi ska",
        "da": "og at det er som en af for på med ikke den til har jeg et om de kan også fra eller vi skal der",
        "no": "og at det er som en av for på med ikke den til har jeg et om de kan også fra eller vi skal der",
        "fi": "ja on ei että se oli mutta kun ovat myös kuin tai hän joka sen voi niin ole tämä jos mitä sekä vain",
        "pl": "i w na się nie że z do jest to jak ale po co od za przez są oraz może który która dla tym być",
        "cs": "a v na se že je to s z do jako ale po co od za i jsou nebo který která pro tím být není také aby",
        "sk": "a v na sa že je to s z do ako ale po čo od za i sú alebo ktorý ktorá pre tým byť nie aj aby",
        "hr": "i u na se da je to s iz do kao ali po što od za su ili koji koja biti nije također ovaj kako sam",
        "sl": "in v na se da je to s iz do kot ali po kaj od za so pa ki biti ni tudi kako ter lahko sem",
        "hu": "a az és hogy nem egy is van meg ez ha de csak mint már vagy volt azt lehet kell nagyon amely ezek fel",
        "ro": "și în de la cu nu o este pe un care mai din să se pentru sau ce dar au fost această sunt prin al ale",
        "tr": "ve bir bu için da de ile çok olarak daha ne gibi var olan ama kadar en sonra değil her o ki veya ise",
        "vi": "là và của có không được cho một các trong người với những này để khi đã cũng từ ở đó như thì rất",
        "id": "yang dan di untuk dengan ini itu dari tidak adalah pada ke dalam akan atau juga oleh bisa ada saya kita",
        "sw": "na ya wa kwa ni katika za la cha kuwa hii hiyo kama lakini pia au sana watu mtu yake hivyo vya ili si",
        "tl": "ang ng sa na mga ay at ito hindi para kung may ako siya ko mo niya kanyang lang din nang isang ni",
        "ca": "el els les que i en una per amb és del però com més molt seu també són aquest aquesta hi ha al de la",
    },
    "cyrillic": {
        "ru": "и в не на что с по это как из но для они его так все или был если только уже при чтобы от он есть",
        "uk": "і в не на що з як та це але для вони його так всі або був якщо тільки вже при щоб від він є й до",
        "bg": "и в не на че с по това как от но за те е са се да си или беше ако само вече при му ще има като",
        "sr": "и у не на да са по то како из али за они је су се или био ако само већ при му ће има као што",
    },
    "arabic": {
        "ar": "في من على إلى أن هذا هذه التي الذي عن مع ما لا كان هو هي كل أو بعد ذلك لم قد بين ثم",
        "fa": "و در به از که این را با است برای آن یک خود تا کرد بر هم نیز ما شد می های بود باید اما شما",
        "ur": "اور میں کے کی ہے سے کا کو یہ پر نے ہیں ایک بھی نہیں وہ کہ تو لیے جو ہو اس گا تھا کر",
    },
    "devanagari": {
        "hi": "है और के में की से को का हैं यह पर ने एक भी नहीं वह कि तो लिए जो हो इस था कर या साथ",
        "mr": "आहे आणि च्या या ते हे एक नाही तर होते साठी आहेत की मी जे असे पण हा त्या का मध्ये होता म्हणून आपण",
        "ne": "छ र को मा ले हो यो छन् पनि एक गर्न भने हुन्छ लागि त्यो तर थियो गरेको बाट संग हामी यस भएको हरू",
    },
}  # fmt: skip

_MARKS = {
    "es": "ñ", "pt": "ãõ", "de": "ß", "pl": "łąęśż", "cs": "řěů", "sk": "ľĺŕ", "ro": "șțţ", "tr": "ğış", "hu": "őű",
    "vi": "ạảấầẩậắặẹẻẽếềểệỉịọỏốồổộớờởợụủứừửựỳỵỷỹđ", "ru": "ыэё", "uk": "іїєґ", "sr": "јљњђћџ",
    "fa": "پژگچ", "ur": "ٹڈڑںےھ", "mr": "ळ", "ca": "ŀ",
}  # fmt: skip

_SCRIPT_OF = {**_ALONE, **{language: script for script, listed in _WORDS.items() for language in listed}}
_LISTED = {script: {language: frozenset(words.split()) for language, words in each.items()}
           for script, each in _WORDS.items()}  # fmt: skip


def is_in(text: str, language: str) -> bool | None:
    """Whether a text is in a language (by its two-letter code), or None where that cannot be told."""
    sample = text if len(text) <= 2 * _SAMPLE else f"{text[:_SAMPLE]} {text[-_SAMPLE:]}"
    code = language.lower().split("-")[0]
    letters = {script: len(pattern.findall(sample)) for script, pattern in _SCRIPTS.items()}
    total = sum(letters.values())
    if total < _FEW_LETTERS:
        return None
    if code in ("ja", "zh"):
        return _east_asian(code, letters, total)
    script = _SCRIPT_OF.get(code)
    if script is None:
        return None
    if letters[script] < _OWN_SCRIPT * total:
        return False
    return True if code in _ALONE else _among(code, _votes(sample, script))


def _east_asian(code: str, letters: dict[str, int], total: int) -> bool:
    written = letters["han"] + letters["kana"]
    if written < _OWN_SCRIPT * total:
        return False
    return (letters["kana"] >= _KANA * written) is (code == "ja")


def _votes(text: str, script: str) -> dict[str, int]:
    """How many words of a text speak for each language of a script."""
    words = _WORD.findall(text.lower())
    votes = dict.fromkeys(_LISTED[script], 0)
    for language, listed in _LISTED[script].items():
        marks = frozenset(_MARKS.get(language, ""))
        votes[language] = sum(1 for word in words if word in listed or not marks.isdisjoint(word))
    return votes


def _among(code: str, votes: dict[str, int]) -> bool | None:
    """Whether the votes are clearly for the language, or clearly for another one."""
    own = votes[code]
    other = max((count for language, count in votes.items() if language not in _alike(code)), default=0)
    if own >= _FEW_VOTES and own > other:
        return True
    if other >= _FEW_VOTES and other >= _CLEAR * own:
        return False
    return None


def _alike(code: str) -> frozenset[str]:
    """The language itself and those that small words do not tell from it."""
    for group in (("da", "no"), ("cs", "sk"), ("hr", "sl")):
        if code in group:
            return frozenset(group)
    return frozenset((code,))
