import type { Receipt, RequestLine } from '../../../api/contract/requests.ts'
import type { EndFilter } from '../../../api/contract/words.ts'
import type { Option } from '../../parts/field.tsx'
import { Badge, type BadgeKind } from '../../parts/notice.tsx'

interface Look {
  name: string
  kind: BadgeKind
}

/** What each is called, and how it is coloured. */
const END_STATES: Record<RequestLine['end_state'], Look> = {
  complete: { name: 'Complete', kind: 'good' },
  client_gone: { name: 'Client left', kind: 'warn' },
  upstream_cut: { name: 'Upstream cut', kind: 'bad' },
  upstream_error: { name: 'Upstream error', kind: 'bad' },
  stalled: { name: 'Stalled', kind: 'bad' },
  refused: { name: 'Refused', kind: 'warn' },
}

/** The ends to search by. */
export const ENDS: readonly Option<EndFilter>[] = [
  { value: 'incomplete', label: 'Not complete' },
  ...namesOf(END_STATES).map(value => ({ value, label: END_STATES[value].name })),
]

/** Of a request without an end. */
const LOOKS: Record<Receipt['end_state'], Look> = {
  ...END_STATES,
  running: { name: 'Running', kind: 'info' },
  expired: { name: 'Process died', kind: 'bad' },
}

/** How an exchange ended, in the words of the console. */
export function EndState({ state }: { state: Receipt['end_state'] }) {
  const { kind, name } = LOOKS[state]
  return <Badge kind={kind}>{name}</Badge>
}

/** Safe because the record has no others. */
function namesOf<Name extends string>(record: Record<Name, unknown>): Name[] {
  return Object.keys(record) as Name[]
}
