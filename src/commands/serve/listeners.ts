import { bind } from '@/commands/bind.ts'
import type { Settings } from '@/config/settings.ts'
import { type OpsDependencies, serveOps } from '@/ops/ops.ts'
import { type ApiGateway, type ApiHost, serveApiHost } from '@/surfaces/api-host.ts'

/** Where a server's callers find it. */
export interface ListenerSettings
  extends Pick<Settings, 'api' | 'corsOrigins' | 'responsesWebSocket' | 'trustedProxies'> {
  /** Whether other processes of this deployment listen on the same API port. */
  sharesPort: boolean
}

/** Opens the API's listener. */
export function listen(gateway: ApiGateway, settings: ListenerSettings): ApiHost {
  return bind({ host: 'HOST', port: 'PORT' }, settings.api, () =>
    serveApiHost(gateway, {
      hostname: settings.api.host,
      port: settings.api.port,
      isShared: settings.sharesPort,
      webSocket: settings.responsesWebSocket,
      trustedProxies: settings.trustedProxies,
      corsOrigins: settings.corsOrigins,
    }),
  )
}

/** Opens the ops listener. */
export function bindOps(ops: Settings['ops'], probes: OpsDependencies) {
  return bind({ host: 'OPS_HOST', port: 'OPS_PORT' }, ops, () =>
    serveOps(probes, { hostname: ops.host, port: ops.port }),
  )
}
