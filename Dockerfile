# A small image that serves a model which is mounted at /model:
#
#   docker build -t myriad .
#   docker run --rm -p 127.0.0.1:8000:8000 -e MYRIAD_API_KEY=... -v "$PWD/birds:/model:ro" myriad
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/myriad \
    && /opt/myriad/bin/pip install --no-cache-dir ".[serve]"

FROM python:3.11-slim
COPY --from=build /opt/myriad /opt/myriad
# Compiled kernels are cached in a folder that the user of the server may write to.
RUN useradd --system --no-create-home --uid 10001 myriad \
    && install --directory --owner=myriad /var/cache/myriad
ENV PATH=/opt/myriad/bin:$PATH \
    NUMBA_CACHE_DIR=/var/cache/myriad \
    PYTHONUNBUFFERED=1
USER myriad
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://localhost:8000/v2/health/ready', timeout=4)"]
# Another address than 127.0.0.1 needs a key: MYRIAD_API_KEY, or --open as a further argument.
ENTRYPOINT ["myriad", "serve", "/model", "--host", "0.0.0.0", "--port", "8000"]
