# Translation with an int8 model, without PyTorch: `docker build -t headwise .`, then
#
#   echo "I ate an apple." | docker run --rm -i --read-only --network none --cap-drop ALL \
#       --volume "$PWD/my-model:/model:ro" headwise translate --to de
#
# The model is the folder at /model. docs/docker.md has more.
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN HEADWISE_RELEASE=1 pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
RUN pip install --no-cache-dir --constraint /wheels/constraints.txt /wheels/*.whl \
    && pip uninstall --yes pip \
    && rm -r /wheels \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin headwise
ENV HEADWISE_MODEL=/model PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
# Reads the whole model: its digests, its tokenizer and its description.
HEALTHCHECK --interval=60s --timeout=10s --start-period=10s CMD ["headwise", "info", "/model"]
ENTRYPOINT ["headwise"]
CMD ["--help"]
