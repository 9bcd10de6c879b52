# Orc for a team in one container: the page, the API, the tools and the workers. docs/teams.md explains compose.yaml.
ARG PYTHON_IMAGE=docker.io/library/python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY requirements.txt .
RUN python -m venv /opt/orc && /opt/orc/bin/pip install --no-cache-dir -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY orc_core orc_core
COPY mcp_server mcp_server
COPY orc orc
RUN /opt/orc/bin/pip install --no-cache-dir --no-deps .

FROM ${PYTHON_IMAGE}
# Tesseract reads scanned pages. One package for each language: tesseract-ocr-fra, tesseract-ocr-spa, ...
ARG OCR_PACKAGES="tesseract-ocr tesseract-ocr-deu tesseract-ocr-fra"
# Debian's mirrors have the newest version of a package only.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ${OCR_PACKAGES} \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --home-dir /data orc \
    && install --directory --owner=orc --group=orc /data /backups
COPY --from=build /opt/orc /opt/orc
# /data is all that Orc keeps, in a folder of it that a restore can replace; it also writes to /tmp.
ENV PATH=/opt/orc/bin:$PATH PYTHONUNBUFFERED=1 ORC_DATA_DIR=/data/orc ORC_HOST=0.0.0.0 ORC_PORT=7071
USER 10001
VOLUME ["/data", "/backups"]
EXPOSE 7071
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7071/api/health', timeout=4)"]
CMD ["orc", "serve"]
