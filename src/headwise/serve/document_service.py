"""Documents and HTML through the document layer, whose sentences go through the scheduler like all others.

Reading and writing a document blocks, so it is done in threads; each waits there for its translations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from headwise.documents.formats.format_table import BY_SUFFIX, output_suffix
from headwise.documents.formats.html import read_fragment
from headwise.documents.translate_document import DocumentOptions, open_document
from headwise.documents.translate_texts import Languages, translate_texts
from headwise.documents.zip_package import ZipPackage
from headwise.errors import ConfigError, DataError
from headwise.extras import EXTRAS, command_for, installed
from headwise.serve.clients import Client
from headwise.serve.ranked_translator import RankedTranslator
from headwise.serve.remote_translator import RemoteTranslator
from headwise.serve.service_errors import ForbiddenError, InvalidRequestError, TooLargeError, UnavailableError
from headwise.serve.settings import MEGABYTE
from headwise.serve.state.stored_files import StoredFiles
from headwise.serve.translate_request import AUTO, RequestOptions
from headwise.text.language.codes import short_code

if TYPE_CHECKING:
    from headwise.serve.service import Service

T = TypeVar("T")

HTML_THREADS = 64
"""Requests with HTML that are read and written at a time; most of their time they wait."""
FILE_THREADS = 4
"""Documents that are read and written at a time."""
MOST_TAGS = 3_000_000
"""Tags of a document, unpacked; a book of a thousand pages has about a million. Each takes up to 500 bytes of memory,
and a small zip file can hold any number."""


class DocumentService:
    """Translates HTML and whole documents."""

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self._service = service
        self._html = ThreadPoolExecutor(HTML_THREADS, "html")
        self._files = ThreadPoolExecutor(FILE_THREADS, "files")
        self.stored = StoredFiles(settings.file_life, settings.files_total * MEGABYTE)
        """Translated files that wait to be downloaded."""

    @property
    def suffixes(self) -> list[str]:
        """Suffixes of the files that this server can read, without those whose columns a request must name."""
        return sorted(
            suffix
            for suffix, each in BY_SUFFIX.items()
            if not each.by_columns and (not each.package or installed(each.package))
        )

    def check_name(self, name: str, options: RequestOptions) -> str:
        """The suffix of a document, which this server must be able to read with these options."""
        suffix = PurePath(name).suffix.lower()
        found = BY_SUFFIX.get(suffix)
        if found is None:
            raise InvalidRequestError("Invalid request: file format not supported")
        if found.package and not installed(found.package):
            package = EXTRAS[found.package][0]
            raise UnavailableError(f"{suffix} files need {package} on the server: {command_for(found.package)}")
        if found.by_columns and not options.columns:
            raise InvalidRequestError(
                "Invalid request: missing columns parameter: name the columns of the table that are to be translated, "
                "by heading or number, separated by commas"
            )
        return suffix

    async def translate_html(
        self, texts: Sequence[str], source: str, target: str, options: RequestOptions, client: Client
    ) -> list[list[str]]:
        """Translate texts with HTML or XML markup: the best translation of each, then its alternatives."""

        def one(text: str, remote: RemoteTranslator) -> list[str]:
            document = read_fragment(text, is_xml=options.format == "xml", roles=options.elements)
            ranked = RankedTranslator(remote)
            made = []
            for rank in range(1 + options.alternatives):
                ranked.rank = rank
                found = translate_texts(ranked, document.segments, Languages(source, target))
                made.append(document.write([each.text for each in found]).decode())
            return list(dict.fromkeys(made))  # a search may find fewer

        runs = [self._run(self._html, lambda remote, text=text: one(text, remote), options, client) for text in texts]  # type: ignore[misc]
        return list(await asyncio.gather(*runs))

    async def translate_file(
        self,
        data: bytes,
        name: str,
        source: str,
        target: str,
        options: RequestOptions = RequestOptions(),  # noqa: B008  # a frozen value
        client: Client = Client("local"),  # noqa: B008
        count: Callable[[int], None] = lambda characters: None,
    ) -> tuple[bytes, str]:
        """Translate a document; returns its bytes and their suffix. Only the suffix of `name` counts.

        `count` receives the number of characters of its texts, before they are translated, in another thread.
        """
        service, settings = self._service, self._service.settings
        service.check_open()
        if not settings.files:
            raise ForbiddenError("Files translation are disabled on this server.")
        suffix = self.check_name(name, options)
        if len(data) > settings.file_limit * MEGABYTE:
            raise TooLargeError(f"the file is larger than {settings.file_limit:g} MB")
        code, known = service.catalogue.code(target), source.casefold() != AUTO
        if known:
            service.steps(source, target, options)

        def whole(remote: RemoteTranslator) -> bytes:
            chosen = DocumentOptions(source=short_code(source) if known else None, target=code, columns=options.columns)
            try:
                if _tags(data) > MOST_TAGS:
                    raise TooLargeError(f"the document has more than {MOST_TAGS:,} tags")
                document = open_document(data, f"document{suffix}", chosen)
                segments = document.segments
                count(sum(len(each.text) for each in segments))
                language = source if known else remote.language_of([each.text for each in segments[:100]], code)
                found = translate_texts(remote, segments, Languages(language, target))
                return document.write([each.text for each in found])
            except (DataError, ConfigError) as error:
                raise InvalidRequestError(f"Invalid request: {error}") from None

        async with service.deadline():
            return await self._run(self._files, whole, options, client), output_suffix(f"document{suffix}")

    async def _run(
        self,
        threads: ThreadPoolExecutor,
        work: Callable[[RemoteTranslator], T],
        options: RequestOptions,
        client: Client,
    ) -> T:
        """Do work in a thread; if this call is cancelled, it ends there with its next translation."""
        loop = asyncio.get_running_loop()
        remote = RemoteTranslator(self._service, loop, options, client)
        try:
            return await loop.run_in_executor(threads, work, remote)
        finally:
            remote.cancel()

    def close(self) -> None:
        """End the threads."""
        for threads in (self._html, self._files):
            threads.shutdown(wait=False, cancel_futures=True)


def _tags(data: bytes) -> int:
    """How many tags a file has at most, with those in its parts if it is a zip file."""
    found = data.count(b"<")
    try:
        package = ZipPackage(data)
    except DataError:  # its reader, too, will refuse it, or it is no zip file
        return found
    return found + sum(piece.count(b"<") for name in package.names for piece in package.pieces(name))
