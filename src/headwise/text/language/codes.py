"""Language codes of models and people, as ISO 639-1: `de` for de, de-AT, de_DE, deu, deu_Latn and German."""

Direction = tuple[str, str]
"""A direction of translation: the codes of its source and target language."""

UNDETERMINED = "und"
"""ISO 639's code for a text whose language cannot be told."""

_LONG = """
afr:af amh:am ara:ar arb:ar asm:as azj:az aze:az bak:ba bel:be ben:bn bos:bs bre:br bul:bg cat:ca ces:cs cmn:zh cym:cy
dan:da deu:de dzo:dz ell:el eng:en epo:eo est:et eus:eu fao:fo fas:fa fil:tl fin:fi fra:fr fry:fy gaz:om gla:gd gle:ga
glg:gl grn:gug guj:gu hat:ht hau:ha heb:he hin:hi hrv:hr hun:hu hye:hy ibo:ig ind:id isl:is ita:it iw:he jav:jv jpn:ja
kan:kn kat:ka kaz:kk khk:mn khm:km kin:rw kir:ky kmr:ku kor:ko lao:lo lat:la lin:ln lit:lt ltz:lb lug:lg lvs:lv mal:ml
mar:mr mkd:mk mlt:mt mya:my nb:no nld:nl nno:nn nob:no npi:ne nor:no ns:nso oci:oc ory:or pan:pa pbt:ps pes:fa plt:mg
pol:pl por:pt prs:fa quy:qu ron:ro rus:ru san:sa sin:si slk:sk slv:sl sme:se sna:sn som:so sot:st spa:es als:sq srp:sr
swe:sv swh:sw tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tuk:tk tur:tr uig:ug ukr:uk urd:ur uzn:uz vie:vi vol:vo wln:wa
xho:xh yor:yo zho:zh zsm:ms zul:zu
"""

_NAMES = """
arabic:ar bengali:bn bulgarian:bg chinese:zh croatian:hr czech:cs danish:da dutch:nl english:en estonian:et finnish:fi
french:fr german:de greek:el hebrew:he hindi:hi hungarian:hu indonesian:id irish:ga italian:it japanese:ja korean:ko
latvian:lv lithuanian:lt maltese:mt norwegian:no persian:fa polish:pl portuguese:pt romanian:ro russian:ru slovak:sk
slovenian:sl spanish:es swahili:sw swedish:sv tamil:ta telugu:te thai:th turkish:tr ukrainian:uk urdu:ur vietnamese:vi
deutsch:de français:fr italiano:it हिन्दी:hi
"""

_SHORT = dict(pair.split(":") for pair in (*_LONG.split(), *_NAMES.split()))


def short_code(code: str) -> str:
    """The language of a code, without its script and region, in two letters where it has such a code."""
    language = code.casefold().replace("_", "-").split("-")[0]
    return _SHORT.get(language, language)
