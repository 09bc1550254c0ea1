# Translation with an int8 model, without PyTorch: `docker build -t headwise .`, then
#
#   echo "I ate an apple." | docker run --rm -i --read-only --network none --cap-drop ALL headwise translate --to de
#
# The server: `docker build --target serve -t headwise-serve .`, then
#
#   docker run --read-only --cap-drop ALL --publish 127.0.0.1:5000:5000 \
#       --volume "$PWD/models:/models:ro" --volume headwise-state:/state headwise-serve
#
# docs/docker.md has more.
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN HEADWISE_RELEASE=1 pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim AS runtime
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
RUN pip install --no-cache-dir --constraint /wheels/constraints.txt "$(ls /wheels/*.whl)[serve]" \
    && pip uninstall --yes pip \
    && rm -r /wheels \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin headwise \
    && install --directory --owner 10001 --group 10001 --mode 700 /state
# Models in /models have names (`headwise models`), beside the bundled one.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HEADWISE_MODELS=/models

FROM runtime AS serve
ENV HEADWISE_SERVE_HOST=0.0.0.0 HEADWISE_SERVE_STATE=/state
VOLUME /state
EXPOSE 5000
USER 10001
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:5000/health', timeout=4)"]
ENTRYPOINT ["headwise"]
CMD ["serve"]

FROM runtime
USER 10001
# Reads the whole model: its digests, its tokenizer and its description.
HEALTHCHECK --interval=60s --timeout=10s --start-period=10s CMD ["headwise", "info", "bundled"]
ENTRYPOINT ["headwise"]
CMD ["--help"]
