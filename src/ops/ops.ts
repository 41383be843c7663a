import { Elysia } from 'elysia'

/** What the ops listener tells of the process. */
export interface OpsDependencies {
  /** Everything that is counted, in Prometheus' text format, and the type to serve it with. */
  metrics: () => Promise<string>
  contentType: string
  /** Why new work should go elsewhere; undefined when this deployment is ready for it. */
  unreadiness: () => Promise<string | undefined>
}

/** The ops listener's app: liveness, readiness, metrics. */
function createOps({ metrics, contentType, unreadiness }: OpsDependencies) {
  return new Elysia({ name: 'ops', handler: { standardHostname: false } })
    .onError(({ code }) => {
      const isUnknown = code === 'NOT_FOUND'
      return Response.json(
        { error: isUnknown ? 'unknown path' : 'failed' },
        { status: isUnknown ? 404 : 500 },
      )
    })
    .get('/healthz', () => Response.json({ status: 'ok' }))
    .get('/readyz', async () => {
      const reason = await unreadiness()
      return reason === undefined
        ? Response.json({ status: 'ready' })
        : Response.json({ status: 'unready', reason }, { status: 503 })
    })
    .get('/metrics', async () => new Response(await metrics(), { headers: { 'content-type': contentType } }))
}

/** Opens the ops listener. Port 0 takes any free one. */
export function serveOps(dependencies: OpsDependencies, address: { hostname: string; port: number }) {
  const app = createOps(dependencies)
  return Bun.serve({
    hostname: address.hostname,
    port: address.port,
    reusePort: false,
    // Its page of an error shows source code.
    development: false,
    fetch: request => app.fetch(request),
  })
}
