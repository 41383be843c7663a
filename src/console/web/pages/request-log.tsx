import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { RequestLine } from '../../api/contract/requests.ts'
import { useAddressState, useSettled } from '../api/address.ts'
import type { Page as ListPage } from '../api/page.ts'
import { useCursorList } from '../api/query.ts'
import { wholeNumber } from '../format/number.ts'
import { duration } from '../format/time.ts'
import { Button } from '../parts/button.tsx'
import { CheckField, type Option, SelectField, TextField } from '../parts/field.tsx'
import { Money } from '../parts/money.tsx'
import { Badge, Empty } from '../parts/notice.tsx'
import { Answer } from '../parts/page.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { type LineFilter, matchesFilter } from '../stream/line-filter.ts'
import { END_STATES, EndState } from './end-state.tsx'
import { ReceiptDrawer, type ReceiptSource } from './receipt.tsx'

export interface RequestLogProps {
  ask(filter: LineFilter, cursor: string | undefined, signal: AbortSignal): Promise<ListPage<RequestLine>>
  receipt: ReceiptSource
  /** Where each request is told as it ends. */
  liveAddress: string
  models: readonly string[]
  keys: readonly Option<string>[]
  /** Columns and conditions of those who see every account. */
  isForAll?: boolean
  channels?: readonly string[]
  empty: ComponentChildren
}

const NO_FILTER: LineFilter & { receipt: string } = {
  model: '',
  key: '',
  status: '',
  end: '',
  id: '',
  account: '',
  channel: '',
  receipt: '',
}

const idOf = (line: RequestLine) => line.id

/** The log of requests: searched, paged, live, each with its receipt. */
export function RequestLog(props: RequestLogProps) {
  const { ask, receipt, liveAddress, isForAll = false, empty } = props
  const [state, change, open] = useAddressState(NO_FILTER)
  const { receipt: shown, ...now } = state
  const filter = useSettled(now.id.length > 0 && now.id.length < 4 ? { ...now, id: '' } : now)
  const key = JSON.stringify(filter)
  const list = useCursorList(
    key,
    idOf,
    // `key` stands for the filter, which is a new object each time.
    useCallback((cursor, signal) => ask(filter, cursor, signal), [key, ask]),
  )
  const [isLive, setLive] = useState(false)
  const { prepend, reload } = list
  const onLine = useCallback(
    (line: RequestLine) => {
      if (matchesFilter(line, filter)) prepend([line])
    },
    [key, prepend],
  )
  const isConnected = useLiveTail(isLive ? liveAddress : undefined, onLine, reload)
  const isFiltered = Object.values(now).some(value => value !== '')
  return (
    <>
      <Filters {...props} filter={now} change={change} />
      <div class="row">
        <CheckField label="Live: show requests as they end" checked={isLive} onValue={setLive} />
        <span role="status">
          {isLive ? (
            <Badge kind={isConnected ? 'good' : 'warn'}>{isConnected ? 'Live' : 'Connecting'}</Badge>
          ) : null}
        </span>
        {isFiltered ? (
          <Button small kind="quiet" onClick={() => change({ ...NO_FILTER, receipt: shown })}>
            Clear filters
          </Button>
        ) : null}
      </div>
      <Answer query={list} what="requests">
        {items =>
          items.length > 0 ? (
            <Table
              label="Requests"
              columns={columnsOf(isForAll, id => open({ receipt: id }))}
              rows={items}
              keyOf={idOf}
              more={list.more}
            />
          ) : isFiltered ? (
            <Empty title="No request matches">Widen the filters, or clear them.</Empty>
          ) : (
            empty
          )
        }
      </Answer>
      {shown === '' ? null : (
        <ReceiptDrawer id={shown} source={receipt} onClose={() => change({ receipt: '' })} />
      )}
    </>
  )
}

function columnsOf(isForAll: boolean, onOpen: (id: string) => void): Column<RequestLine>[] {
  const forAll: Column<RequestLine>[] = [
    { label: 'Account', cell: line => <a href={`/admin/accounts/${line.account_id}`}>{line.account_id}</a> },
    { label: 'Channel', cell: line => line.channel ?? <span class="soft">none</span> },
  ]
  return [
    {
      label: 'Model',
      kind: 'primary-cell',
      cell: line => (
        <button type="button" class="link-button" onClick={() => onOpen(line.id)}>
          {line.model ?? 'Unknown model'} <span class="unseen">receipt</span>
        </button>
      ),
    },
    { label: 'Time', kind: 'nowrap', cell: line => <When iso={line.started_at} /> },
    ...(isForAll ? forAll : []),
    { label: 'Key', cell: line => line.key_name },
    {
      label: 'End',
      kind: 'nowrap',
      cell: line => (
        <span class="row">
          <EndState state={line.end_state} /> <span class="soft number">{line.status}</span>
        </span>
      ),
    },
    {
      label: 'Tokens',
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
    {
      label: 'Cost',
      kind: 'number',
      cell: line => (line.cost === null ? <span class="soft">none</span> : <Money amount={line.cost} />),
    },
  ]
}

const STATUSES: readonly Option<string>[] = [
  { value: '', label: 'Any' },
  ...['2xx', '4xx', '400', '401', '402', '429', '499', '5xx', '502', '503'].map(value => ({
    value,
    label: value,
  })),
]

const ENDS: readonly Option<string>[] = [
  { value: '', label: 'Any' },
  ...Object.entries(END_STATES).map(([value, { name }]) => ({ value, label: name })),
]

function Filters({
  filter,
  change,
  models,
  keys,
  channels = [],
  isForAll = false,
}: RequestLogProps & { filter: LineFilter; change(changes: Partial<LineFilter>): void }) {
  return (
    <search class="filters" aria-label="Filter requests">
      <TextField
        label="Request id"
        placeholder="First characters"
        spellcheck={false}
        value={filter.id}
        onValue={id => change({ id: id.trim().replace(/[^\da-fA-F-]/g, '') })}
      />
      <SelectField
        label="Model"
        value={filter.model}
        options={withAny(models, filter.model)}
        onValue={model => change({ model })}
      />
      {isForAll ? (
        <>
          <TextField
            label="Account number"
            inputMode="numeric"
            value={filter.account}
            onValue={account => change({ account: account.replace(/\D/g, '') })}
          />
          <SelectField
            label="Channel"
            value={filter.channel}
            options={withAny(channels, filter.channel)}
            onValue={channel => change({ channel })}
          />
        </>
      ) : (
        <SelectField
          label="Key"
          value={filter.key}
          options={[{ value: '', label: 'Any' }, ...keys]}
          onValue={key => change({ key })}
        />
      )}
      <SelectField
        label="Status"
        value={filter.status}
        options={STATUSES}
        onValue={status => change({ status })}
      />
      <SelectField label="End" value={filter.end} options={ENDS} onValue={end => change({ end })} />
    </search>
  )
}

/** The names to choose from, and the chosen one even if it is no more among them. */
function withAny(names: readonly string[], chosen: string): Option<string>[] {
  const all = chosen === '' || names.includes(chosen) ? names : [chosen, ...names]
  return [{ value: '', label: 'Any' }, ...all.map(value => ({ value, label: value }))]
}

/** How soon a stream that was refused is asked for again; the browser itself does so only for one that broke off. */
const AGAIN_MS = 5000

/**
 * Listens while there is an address; true while the stream is open. `onGap` is told when it is open again: what ended
 * in between was not told.
 */
function useLiveTail(
  address: string | undefined,
  onLine: (line: RequestLine) => void,
  onGap: () => void,
): boolean {
  const [isConnected, setConnected] = useState(false)
  useEffect(() => {
    if (address === undefined) return
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let wasOpen = false
    const open = () => {
      const opened = new EventSource(address)
      source = opened
      opened.onopen = () => {
        setConnected(true)
        if (wasOpen) onGap()
        wasOpen = true
      }
      opened.onerror = () => {
        setConnected(false)
        if (opened.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN_MS)
      }
      opened.addEventListener('request', event => onLine(readLine(event.data)))
    }
    open()
    return () => {
      clearTimeout(timer)
      source?.close()
      setConnected(false)
    }
  }, [address, onLine, onGap])
  return isConnected
}

/** The server writes these events from the same contract. */
function readLine(data: string): RequestLine {
  return JSON.parse(data) as RequestLine
}
