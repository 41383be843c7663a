import type { CommandIo } from './command.ts'
import type { Welcome } from './first-start.ts'

/** Where everything listens. */
export interface Addresses {
  apiUrl: string
  opsUrl: string | undefined
}

/** What a start shows a person: where everything is, and on a first start the way to a first answer. */
export function greet(io: CommandIo, server: Addresses, welcome: Welcome | undefined): void {
  io.out(`Tollgate is running`)
  io.out(`  API  ${server.apiUrl}`)
  if (server.opsUrl !== undefined) io.out(`  ops  ${server.opsUrl}  (/healthz, /readyz, /metrics)`)
  if (welcome === undefined) return
  io.out('')
  io.out(`A first request, with the key of a trial account (shown this once):`)
  io.out('')
  io.out(curl(reachable(server.apiUrl), welcome))
  io.out('')
}

function curl(url: string, { key, model }: Welcome): string {
  const body = { model, stream: true, messages: [{ role: 'user', content: 'Hello, Tollgate!' }] }
  return [
    `curl -N ${url}/v1/chat/completions \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n')
}

/** An address that means "every interface" is none to call. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')
}
