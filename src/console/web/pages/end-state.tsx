import type { Receipt, RequestLine } from '../../api/contract/requests.ts'
import { Badge, type BadgeKind } from '../parts/notice.tsx'

interface Look {
  name: string
  kind: BadgeKind
}

/** What each is called, and how it is coloured. */
export const END_STATES: Record<RequestLine['end_state'], Look> = {
  complete: { name: 'Complete', kind: 'good' },
  client_gone: { name: 'Client left', kind: 'warn' },
  upstream_cut: { name: 'Upstream cut', kind: 'bad' },
  upstream_error: { name: 'Upstream error', kind: 'bad' },
  stalled: { name: 'Stalled', kind: 'bad' },
  refused: { name: 'Refused', kind: 'warn' },
}

/** Of a request without an end. */
const LOOKS: Record<Receipt['end_state'], Look> = {
  ...END_STATES,
  running: { name: 'Running', kind: 'info' },
  expired: { name: 'Process died', kind: 'bad' },
}

/** The end of that name; undefined: there is none. */
export function endStateOf(name: string): RequestLine['end_state'] | undefined {
  return Object.hasOwn(END_STATES, name) ? (name as RequestLine['end_state']) : undefined
}

/** How an exchange ended, in the words of the console. */
export function EndState({ state }: { state: Receipt['end_state'] }) {
  const { kind, name } = LOOKS[state]
  return <Badge kind={kind}>{name}</Badge>
}
