FROM python:3.12-slim
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY app app
COPY solver solver
RUN pip install --no-cache-dir --constraint constraints.txt . \
 && useradd --system --create-home interlace \
 && install --directory --owner interlace /var/lib/interlace
WORKDIR /var/lib/interlace
USER interlace
ENV INTERLACE_DATA_DIR=/var/lib/interlace PYTHONUNBUFFERED=1
VOLUME /var/lib/interlace
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
# The container's own network is private; compose publishes the port on loopback only.
CMD ["interlace", "serve", "--host", "0.0.0.0", "--allow-remote"]
