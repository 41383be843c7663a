import type { CommandIo } from '@/commands/command.ts'
import { reachable } from './console.ts'
import type { Welcome } from './first-start.ts'

/** Where everything listens. */
interface Addresses {
  apiUrl: string
  consoleUrl: string
  opsUrl: string
}

/** What is shown this once. */
interface Greeting {
  /** Undefined: this is not the embedded default, or somebody has begun with it already. */
  welcome: Welcome | undefined
  /** Makes the first administrator; undefined: there is one. */
  link: string | undefined
}

/**
 * What a start shows a person: where everything is, and on a first start the way to a first answer. All at once: whoever
 * waits for the addresses to appear has the rest as well.
 */
export function greet(io: CommandIo, server: Addresses, { welcome, link }: Greeting): void {
  const lines = [
    'Tollgate is running',
    `  API  ${server.apiUrl}`,
    `  console  ${server.consoleUrl}`,
    `  ops  ${server.opsUrl}  (/healthz, /readyz, /metrics)`,
  ]
  if (link !== undefined) {
    lines.push(
      '',
      'Nobody administers this deployment yet. This link makes the first administrator, once, within a day:',
      '',
      `  ${link}`,
      '',
    )
  }
  if (welcome !== undefined) {
    lines.push(
      '',
      'A first request, with the key of a trial account (shown this once):',
      '',
      curl(reachable(server.apiUrl), welcome),
      '',
    )
  }
  io.out(lines.join('\n'))
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
