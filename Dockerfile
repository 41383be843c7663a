# The image runs what `bun run start` runs: the sources on Bun, with production dependencies only.
FROM node:24-bookworm-slim AS build
# npm 12 runs no install script that is not allowed; Bun's puts the binary in place.
RUN npm install --global --allow-scripts=bun bun@1.4.5
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
COPY patches patches
# A compiler and types come along as optional peers of elysia; nothing that runs needs them.
RUN bun install --frozen-lockfile --production \
  && rm -rf node_modules/typescript node_modules/@typescript node_modules/@types node_modules/bun-types node_modules/undici-types

FROM debian:bookworm-slim
# tini is process 1: it hands signals on and collects orphans (the embedded Postgres has children).
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates tini \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 10001 --create-home --home-dir /var/lib/tollgate tollgate
COPY --from=build /usr/local/lib/node_modules/bun/bin/bun.exe /usr/local/bin/bun
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY package.json tsconfig.json bunfig.toml LICENSE ./
COPY src src
COPY drizzle drizzle
RUN printf '#!/bin/sh\nexec bun /app/src/main.ts "$@"\n' > /usr/local/bin/tollgate \
  && chmod 755 /usr/local/bin/tollgate
ENV NODE_ENV=production \
    BUN_CONFIG_MAX_HTTP_REQUESTS=65535 \
    BUN_CONFIG_DNS_TIME_TO_LIVE_SECONDS=1 \
    BUN_JSC_useWarmUpMarkedBlocks=0 \
    MIMALLOC_PURGE_DELAY=500 \
    MIMALLOC_PURGE_HOLES_MIN_INTERVAL=500 \
    DATA_DIR=/var/lib/tollgate/data \
    CONSOLE_HOST=0.0.0.0 \
    OPS_HOST=0.0.0.0
USER tollgate
VOLUME /var/lib/tollgate
EXPOSE 8080 8081 9090
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["bun", "-e", "process.exit((await fetch('http://127.0.0.1:' + (process.env.OPS_PORT || 9090) + '/readyz', { proxy: false })).ok ? 0 : 1)"]
ENTRYPOINT ["tini", "--", "tollgate"]
CMD ["serve"]
