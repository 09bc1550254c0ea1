"""Generated lines with placeholders of many kinds, in English and French: each must be in the translation as it was."""

import random
import string
from collections.abc import Callable

TEMPLATES = {
    "en": (
        "Please open {} and enter your name.",
        "{} could not be found.",
        "The value of {} must be greater than {}.",
        "You have sent {} to {}.",
        "See {} for more information.",
        "We wrote to {} yesterday, but nobody answered.",
        "Copy {} to {} before you restart the program.",
        "Error in line 12: unexpected {}",
        "Do you really want to delete {}?",
        "Thank you, {}! Your order will be shipped on Monday.",
        "The file ({}) is larger than “{}”.",
        "{}: {}",
        "Welcome to {}, the best place to learn {}.",
        "Use {}, {} or {} to continue.",
    ),
    "fr": (
        "Veuillez ouvrir {} et saisir votre nom.",
        "{} est introuvable.",
        "La valeur de {} doit être supérieure à {}.",
        "Vous avez envoyé {} à {}.",
        "Consultez {} pour plus d'informations.",
        "Nous avons écrit à {} hier, mais personne n'a répondu.",
        "Copiez {} dans {} avant de redémarrer le programme.",
        "Erreur à la ligne 12 : {} inattendu",
        "Voulez-vous vraiment supprimer {} ?",
        "Merci, {} ! Votre commande sera expédiée lundi.",
        "Le fichier ({}) est plus grand que « {} ».",
        "{} : {}",
        "Bienvenue sur {}, le meilleur endroit pour apprendre {}.",
        "Utilisez {}, {} ou {} pour continuer.",
    ),
}
NAMES = ("name", "user", "count", "fileName", "user_id", "total", "price", "item.title", "date", "error_message", "x")


def placeholder_line(drawn: random.Random, language: str) -> tuple[str, list[str]]:
    """A line in a language, and its placeholders."""
    template = drawn.choice(TEMPLATES[language])
    found = [KINDS[drawn.choice(list(KINDS))](drawn) for _ in range(template.count("{}"))]
    line = template
    for each in found:
        line = line.replace("{}", each.replace("{}", "\0"), 1)
    return line.replace("\0", "{}"), found


def _name(drawn: random.Random) -> str:
    return drawn.choice(NAMES)


def _word(drawn: random.Random) -> str:
    return "".join(drawn.choices(string.ascii_lowercase, k=drawn.randint(3, 9)))


def _branches(drawn: random.Random) -> str:
    return drawn.choice(["one {# file} other {# files}", "=0 {nothing} one {# day} other {# days}"])


KINDS: dict[str, Callable[[random.Random], str]] = {
    "brace": lambda drawn: drawn.choice([f"{{{_name(drawn)}}}", "{}", "{0}", "{1:.2f}", "{user!r}"]),
    "printf": lambda drawn: drawn.choice(["%s", "%d", "%1$s", "%2$d", "%.2f", "%5d", "%-10s", "%lu", "%@", "%x"]),
    "python": lambda drawn: f"%({_name(drawn)}){drawn.choice('sdr')}",
    "shell": lambda drawn: drawn.choice(["${%s}", "#{%s}", "@{%s}", "%%{%s}"]) % _name(drawn),
    "template": lambda drawn: (
        drawn.choice(["{{%s}}", "{{ %s }}", "{{ %s|upper }}", "{%% include %s %%}"]) % _name(drawn)
    ),
    "plural": lambda drawn: f"{{n, plural, {_branches(drawn)}}}",
    "select": lambda drawn: "{g, select, male {he} female {she} other {they}}",
    "argument": lambda drawn: f"{{{_word(drawn)}, {drawn.choice(['number', 'date, short', 'time, medium'])}}}",
    "tag": lambda drawn: (
        drawn.choice(['<ph id="%d"/>', '<x id="%d"/>', '<img src="%d.png">', '<ph name="n%d"/>']) % drawn.randint(1, 99)
    ),
    "url": lambda drawn: (
        drawn.choice(["https://www.%s.org/%s?q=%s&id=7", "http://%s.example/%s#%s", "www.%s.fr/%s_%s"])
        % (_word(drawn), _word(drawn), _word(drawn))
    ),
    "address": lambda drawn: f"{_word(drawn)}.{_word(drawn)}@{_word(drawn)}.com",
    "path": lambda drawn: (
        drawn.choice(["/usr/share/%s/%s.txt", "~/%s/%s", "C:\\Users\\%s\\%s.docx", "./%s/%s.py"])
        % (_word(drawn), _word(drawn))
    ),
    "code": lambda drawn: drawn.choice(["`%s -l`", "``%s``", "<code>%s()</code>", "`git commit -m %s`"]) % _word(drawn),
    "option": lambda drawn: f"--{_word(drawn)}" + drawn.choice(["", f"={_word(drawn)}"]),
    "emoji": lambda drawn: drawn.choice(["🎉", "👍🏽", "❤️", "👩‍🚀", "🇫🇷", "☀️"]),
}
