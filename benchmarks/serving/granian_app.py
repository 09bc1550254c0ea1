"""The application of Headwise's server for granian, which starts it with `serving.granian_app:make`."""

import os

from starlette.types import ASGIApp

from headwise.serve.app import make_app
from headwise.serve.service import Service
from headwise.serve.settings import load_settings


def make() -> ASGIApp:
    """The application with the settings of the environment."""
    return make_app(Service(load_settings(environment=os.environ)))
