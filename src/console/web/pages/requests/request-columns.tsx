import type { RequestLine } from '../../../api/contract/requests.ts'
import { errorReason } from '../../format/error-texts.ts'
import { wholeNumber } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { type Column, moneyColumn } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { EndState } from './end-state.tsx'

/** What the log tells of each request; `isForAll` for those who see every account. */
export function requestColumns(isForAll: boolean, onOpen: (id: string) => void): Column<RequestLine>[] {
  const account: Column<RequestLine> = {
    label: 'Account',
    kind: 'wide',
    cell: line => (
      <>
        <a href={`/admin/accounts/${line.account_id}`}>{line.account_id}</a>
        <small class="soft clipped" title={line.account_email ?? undefined}>
          {line.account_email}
        </small>
      </>
    ),
  }
  return [
    {
      label: 'Model',
      kind: 'primary-cell',
      cell: line => (
        <>
          <button type="button" class="link-button" onClick={() => onOpen(line.id)}>
            {line.model ?? 'Unknown model'} <span class="unseen">receipt</span>
          </button>
          {isForAll ? <small class="wide soft">{line.channel}</small> : null}
          <small class="narrow soft">
            {isForAll ? `${accountOf(line)}, ${line.channel ?? 'no channel'}, ` : ''}
            {line.key_name}
          </small>
        </>
      ),
    },
    { label: 'Time', kind: 'nowrap', cell: line => <When iso={line.started_at} /> },
    ...(isForAll ? [account] : []),
    { label: 'Key', kind: 'wide', cell: line => line.key_name },
    {
      label: 'End',
      kind: 'nowrap',
      cell: line => (
        <span class="row" title={errorReason(line.error_code) ?? undefined}>
          <EndState state={line.end_state} /> <span class="soft number">{line.status}</span>
        </span>
      ),
    },
    {
      label: 'Tokens in + out',
      kind: 'number',
      cell: line => (
        <span title="Input and output tokens">
          {wholeNumber(line.input_tokens)} + {wholeNumber(line.output_tokens)}
        </span>
      ),
    },
    {
      label: 'Took',
      kind: 'number',
      cell: line => (
        <span
          title={line.first_byte_ms === null ? undefined : `First byte after ${duration(line.first_byte_ms)}`}
        >
          {duration(line.total_ms)}
        </span>
      ),
    },
    moneyColumn('Cost', line => line.cost),
  ]
}

/** By its number alone where it has no address. */
function accountOf({ account_id, account_email }: RequestLine): string {
  return account_email === null ? `account ${account_id}` : `account ${account_id}, ${account_email}`
}
