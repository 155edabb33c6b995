# The inner loops of the solver are compiled here; the image has no compiler.
FROM python:3.12-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE constraints.txt ./
COPY app app
COPY solver solver
COPY client client
COPY interlace interlace
# What is added: PostgreSQL for several servers, Dask for many machines, plots as SVG. Empty leaves
# all of them out.
ARG EXTRAS=cluster,plots,postgresql
RUN pip wheel --no-cache-dir --constraint constraints.txt --wheel-dir /wheels \
    ./client ".[service${EXTRAS:+,$EXTRAS}]"

FROM python:3.12-slim
# pg_dump and pg_restore, for interlace backup and restore
RUN apt-get update \
 && apt-get install --yes --no-install-recommends postgresql-client \
 && rm -rf /var/lib/apt/lists/*
# Fixed, so that a volume or a backup belongs to the same user on every machine.
RUN groupadd --gid 10001 interlace \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/interlace interlace \
 && install --directory --owner interlace --group interlace --mode 750 /var/lib/interlace
ARG EXTRAS=cluster,plots,postgresql
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels \
    "interlace[service${EXTRAS:+,$EXTRAS}]" interlace-client
WORKDIR /var/lib/interlace
USER 10001:10001
# matplotlib keeps its list of fonts in a directory that is there for each run anew.
ENV INTERLACE_DATA_DIR=/var/lib/interlace INTERLACE_LOG_FORMAT=json \
    MPLCONFIGDIR=/tmp/matplotlib PYTHONUNBUFFERED=1
VOLUME /var/lib/interlace
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
# The container's own network is private; compose publishes the port on loopback only.
CMD ["interlace", "serve", "--host", "0.0.0.0", "--allow-remote"]
