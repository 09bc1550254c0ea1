"""Words for machines, which a translation has as they are: URLs, addresses, code in backticks, and paths."""

URL = r"(?:(?:https?|ftp|file|ssh|git)://|mailto:|www\.)[^\s<>\"'`{}|\\^]*[^\s<>\"'`{}|\\^.,;:!?()\[\]…]"
ADDRESS = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
CODE = r"`+[^`\n]+`+"
PATH = (
    r"(?<![\w/\\])(?:[A-Za-z]:\\|\\\\)[^\s<>|?*\"]*[^\s<>|?*\".,;:!)\]…]"
    r"|(?<![\w/.<])(?:~|\.{1,2})?/(?:[\w.@+-]+/)+[\w.@+-]*[\w@+]|(?<![\w/])~?/(?:etc|usr|var|tmp|home|dev|proc|opt)\b"
    r"|(?<![\w/])[\w.-]+(?:/[\w.-]+)*/[\w-]+\.[A-Za-z]\w{0,4}\b"
)
