"""Generated lines with numbers of many kinds, in the five languages: every run of digits must survive translation.

A lone digit ("2 apples") is not among them except in dates: it may rightly become a word ("zwei Äpfel").
"""

import random
from collections.abc import Callable

TEMPLATES = {
    "en": (
        "The invoice number is {id}.",
        "Please pay {amount} euros by {date}.",
        "The train leaves at {time} from platform {small}.",
        "Call us on {phone} if you have any questions.",
        "Sales rose by {percent} in {year}.",
        "Version {version} was released on {date}.",
        "About {large} people live in the region.",
        "He was born in {year} and died in {year}.",
        "The parcel weighs {decimal} kg and costs {amount} dollars.",
        "We met on {named_date} at {time}.",
        "The temperature was {decimal} degrees, {small} less than in {year}.",
        "Order {code} contains {small} boxes.",
        "Page {small} of {hundred}",
        "The room costs {amount} euros per night, breakfast included ({decimal} euros).",
        "Between {year} and {year} the number of members grew from {large} to {large}.",
        "{small} + {small} = {hundred}",
    ),
    "de": (
        "Die Rechnungsnummer lautet {id}.",
        "Bitte zahlen Sie bis zum {date} {amount} Euro.",
        "Der Zug fährt um {time} Uhr von Gleis {small} ab.",
        "Rufen Sie uns unter {phone} an, wenn Sie Fragen haben.",
        "Der Umsatz stieg {year} um {percent}.",
        "Version {version} ist am {date} erschienen.",
        "Etwa {large} Menschen leben in der Region.",
        "Er wurde {year} geboren und starb {year}.",
        "Das Paket wiegt {decimal} kg und kostet {amount} Euro.",
        "Wir trafen uns am {named_date} um {time} Uhr.",
        "Die Bestellung {code} enthält {small} Kisten.",
        "Seite {small} von {hundred}",
        "Zwischen {year} und {year} stieg die Zahl der Mitglieder von {large} auf {large}.",
        "Es waren {decimal} Grad, {small} weniger als {year}.",
    ),
    "fr": (
        "Le numéro de la facture est {id}.",
        "Veuillez payer {amount} euros avant le {date}.",
        "Le train part à {time} du quai {small}.",
        "Appelez-nous au {phone} si vous avez des questions.",
        "Les ventes ont augmenté de {percent} en {year}.",
        "La version {version} est sortie le {date}.",
        "Environ {large} personnes vivent dans la région.",
        "Il est né en {year} et mort en {year}.",
        "Le colis pèse {decimal} kg et coûte {amount} euros.",
        "Nous nous sommes vus le {named_date} à {time}.",
        "La commande {code} contient {small} boîtes.",
        "Page {small} sur {hundred}",
        "Entre {year} et {year}, le nombre de membres est passé de {large} à {large}.",
        "Il faisait {decimal} degrés, {small} de moins qu'en {year}.",
    ),
    "it": (
        "Il numero della fattura è {id}.",
        "Si prega di pagare {amount} euro entro il {date}.",
        "Il treno parte alle {time} dal binario {small}.",
        "Chiamateci al numero {phone} se avete domande.",
        "Le vendite sono aumentate del {percent} nel {year}.",
        "La versione {version} è uscita il {date}.",
        "Circa {large} persone vivono nella regione.",
        "È nato nel {year} ed è morto nel {year}.",
        "Il pacco pesa {decimal} kg e costa {amount} euro.",
        "Ci siamo visti il {named_date} alle {time}.",
        "L'ordine {code} contiene {small} scatole.",
        "Pagina {small} di {hundred}",
        "Tra il {year} e il {year} il numero dei soci è passato da {large} a {large}.",
        "C'erano {decimal} gradi, {small} in meno del {year}.",
    ),
    "hi": (
        "बिल संख्या {id} है।",
        "कृपया {date} तक {amount} रुपये का भुगतान करें।",
        "ट्रेन {time} बजे प्लेटफ़ॉर्म {small} से चलती है।",
        "कोई सवाल हो तो हमें {phone} पर फ़ोन करें।",
        "{year} में बिक्री {percent} बढ़ी।",
        "संस्करण {version} {date} को जारी हुआ।",
        "इस क्षेत्र में लगभग {large} लोग रहते हैं।",
        "उसका जन्म {year} में हुआ और मृत्यु {year} में।",
        "पैकेट का वज़न {decimal} किलो है और कीमत {amount} रुपये।",
        "हम {named_date} को {time} बजे मिले।",
        "ऑर्डर {code} में {small} डिब्बे हैं।",
        "पृष्ठ {small} / {hundred}",
        "{year} और {year} के बीच सदस्यों की संख्या {large} से {large} हो गई।",
        "तापमान {decimal} डिग्री था, {year} से {small} कम।",
    ),
}

MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "hi": "जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
}

SEPARATORS = {"en": (",", "."), "de": (".", ","), "fr": (" ", ","), "it": (".", ","), "hi": (",", ".")}
"""The separators of thousands and decimals."""


def digit_line(drawn: random.Random, language: str) -> str:
    """One line in a language, with numbers in its places."""
    line = drawn.choice(TEMPLATES[language])
    while "{" in line:
        name = line[line.index("{") + 1 : line.index("}")]
        line = line.replace(f"{{{name}}}", NUMBERS[name](drawn, language), 1)
    return line


def _grouped(number: int, language: str) -> str:
    """A whole number with its separators, in India by lakh and crore."""
    text = str(number)
    if language == "hi":
        head, tail = text[:-3], text[-3:]
        groups = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)][::-1]
        return ",".join([*groups, tail])
    return f"{number:,}".replace(",", SEPARATORS[language][0])


def _amount(drawn: random.Random, language: str) -> str:
    whole = _grouped(int(10 ** drawn.uniform(1, 6)), language)
    return drawn.choice([whole, f"{whole}{SEPARATORS[language][1]}{drawn.randrange(100):02d}"])


def _large(drawn: random.Random, language: str) -> str:
    number = int(10 ** drawn.uniform(2, 9))
    return drawn.choice([_grouped(number, language), str(number)])


def _decimal(drawn: random.Random, language: str) -> str:
    places = drawn.choice([1, 1, 2, 3])
    return f"{drawn.uniform(0, 60):.{places}f}".replace(".", SEPARATORS[language][1])


def _date(drawn: random.Random, language: str) -> str:
    day, month, year = drawn.randint(1, 28), drawn.randint(1, 12), drawn.randint(1900, 2035)
    return drawn.choice([f"{year}-{month:02d}-{day:02d}", f"{day:02d}.{month:02d}.{year}", f"{day}/{month}/{year}"])


def _named_date(drawn: random.Random, language: str) -> str:
    day, month, year = drawn.randint(1, 28), drawn.choice(MONTHS[language].split()), drawn.randint(1900, 2035)
    return f"{day}. {month} {year}" if language == "de" else f"{day} {month} {year}"


def _phone(drawn: random.Random, language: str) -> str:
    def digits(count: int) -> str:
        return "".join(drawn.choices("0123456789", k=count))

    return drawn.choice([f"+{drawn.randint(10, 99)} {digits(2)} {digits(7)}", f"0{digits(3)} {digits(4)} {digits(3)}",
                         f"0{digits(3)}/{digits(6)}", f"{digits(3)}-{digits(3)}-{digits(4)}"])  # fmt: skip


def _code(drawn: random.Random, language: str) -> str:
    letters = "".join(drawn.choices("ABCDEFGHKLMNPRSTUWXZ", k=2))
    number = drawn.randint(10, 999_999)
    return drawn.choice(
        [f"{letters}-{number}", f"#{number}", f"{letters}{number}", f"{number}/{drawn.randint(10, 99)}"]
    )


NUMBERS: dict[str, Callable[[random.Random, str], str]] = {
    "amount": _amount,
    "large": _large,
    "decimal": _decimal,
    "date": _date,
    "named_date": _named_date,
    "phone": _phone,
    "code": _code,
    "id": lambda drawn, _: str(drawn.randint(10, 10 ** drawn.randint(3, 12))),
    "time": lambda drawn, _: f"{drawn.randrange(24):02d}:{drawn.randrange(60):02d}",
    "percent": lambda drawn, language: _decimal(drawn, language) + drawn.choice(["%", " %"]),
    "year": lambda drawn, _: str(drawn.randint(1800, 2035)),
    "version": lambda drawn, _: ".".join(str(drawn.randrange(30)) for _ in range(drawn.randint(2, 4))),
    "small": lambda drawn, _: str(drawn.randint(10, 99)),
    "hundred": lambda drawn, _: str(drawn.randint(100, 999)),
}
