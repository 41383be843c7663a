import type { RequestLine } from '../../api/contract/requests.ts'
import { Badge, type BadgeKind } from '../parts/notice.tsx'

/** What each is called, and how it is coloured. */
export const END_STATES: Record<RequestLine['end_state'], { name: string; kind: BadgeKind }> = {
  complete: { name: 'Complete', kind: 'good' },
  client_gone: { name: 'Client left', kind: 'warn' },
  upstream_cut: { name: 'Upstream cut', kind: 'bad' },
  upstream_error: { name: 'Upstream error', kind: 'bad' },
  stalled: { name: 'Stalled', kind: 'bad' },
  refused: { name: 'Refused', kind: 'warn' },
}

/** How an exchange ended, in the words of the console. */
export function EndState({ state }: { state: string }) {
  if (state === 'running') return <Badge kind="info">Running</Badge>
  if (state === 'expired') return <Badge kind="bad">Process died</Badge>
  const known = Object.entries(END_STATES).find(([name]) => name === state)?.[1]
  return <Badge kind={known?.kind ?? ''}>{known?.name ?? state}</Badge>
}
