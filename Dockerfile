# Two stages: the first builds a virtual environment, the second has only that. BASE needs Python 3.11 or newer with venv.
#   docker build -t svmkit .                                             # on python:3.11-slim
#   docker build -t svmkit --build-arg BASE=registry.example/python:3.12-slim .
# A package with plugins of one's own, in an image derived from it:
#   FROM svmkit
#   RUN pip install my-svmkit-plugin && svmkit warmup mine
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
RUN python3 -m venv /opt/svmkit
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY svmkit svmkit
COPY plugins plugins
COPY registry registry
# --mount=type=secret,id=pip : a pip.conf for an index of one's own, which must not stay in the image
RUN --mount=type=secret,id=pip,target=/etc/pip.conf,required=false \
    /opt/svmkit/bin/pip install --no-cache-dir . \
 && find /opt/svmkit -depth -type d \( -name tests -o -name test \) -path '*/site-packages/*' \
      ! -path '*/numpy/*' ! -path '*/sklearn/*' ! -path '*/scipy/*' -exec rm -rf {} + \
 && rm -rf /opt/svmkit/lib/python3*/site-packages/pip/_vendor/distlib/*.exe

FROM ${BASE}
# compiled code is for one kind of processor: x86-64-v3 has AVX2 and FMA, as all servers since 2013; generic for others
ARG CPU=x86-64-v3
# owned by the image's user, so that one RUN line in a derived image installs a plugin
COPY --from=build --chown=10001:10001 /opt/svmkit /opt/svmkit
# compiled loops are kept here, written while the image is built, so that no job has to compile
ENV PATH=/opt/svmkit/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/opt/svmkit-cache \
    NUMBA_CPU_NAME=${CPU} \
    NUMBA_CPU_FEATURES= \
    MPLCONFIGDIR=/tmp/matplotlib \
    HOME=/work \
    MLFLOW_DISABLE_TELEMETRY=true \
    DO_NOT_TRACK=true
RUN mkdir -p /opt/svmkit-cache /work && svmkit warmup && chmod -R a+rwX /opt/svmkit-cache /work \
 && useradd --uid 10001 --no-create-home --home-dir /work svmkit
WORKDIR /work
USER 10001
ENTRYPOINT ["svmkit"]
CMD ["--help"]
