"""Errors of the service, each with its HTTP status; every API renders them in its own JSON."""


class ServiceError(Exception):
    """A request that is not answered; the message is for the client, and holds nothing of other clients."""

    status = 400

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds after which the same request may be answered."""


class InvalidRequestError(ServiceError):
    """The request is malformed, or beyond a limit."""


class UnsupportedLanguageError(ServiceError):
    """No model knows a language, or none translates this direction."""


class UnauthorizedError(ServiceError):
    """The API key is missing or wrong, for APIs that say so with this status."""

    status = 401


class ForbiddenError(ServiceError):
    """The API key is missing or wrong, or the operator has switched this off."""

    status = 403


class UnknownPageError(ServiceError):
    """There is nothing at this address."""

    status = 404


class WrongMethodError(ServiceError):
    """This address exists, but not for this method."""

    status = 405


class SlowClientError(ServiceError):
    """The body did not arrive in time."""

    status = 408


class TooLargeError(ServiceError):
    """The body or the document is larger than allowed."""

    status = 413


class RateLimitError(ServiceError):
    """The client has sent too many requests."""

    status = 429


class QuotaError(ServiceError):
    """The client has used up its characters; the status is DeepL's."""

    status = 456


class ClientGoneError(ServiceError):
    """The client closed the connection before its answer."""

    status = 499


class InternalError(ServiceError):
    """The server is at fault; the reason is in its log."""

    status = 500


class UnavailableError(ServiceError):
    """The server cannot answer now: its queue is full, it stops, or a worker was lost. Later it can."""

    status = 503
