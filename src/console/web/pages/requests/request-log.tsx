import type { ComponentChildren } from 'preact'
import { useCallback, useState } from 'preact/hooks'
import type { RequestLine } from '../../../api/contract/requests.ts'
import { useAddressState, useSettled } from '../../api/address.ts'
import { addressOf, call } from '../../api/client.ts'
import { MOST_LIVE, useCursorList } from '../../api/query.ts'
import { serverNow } from '../../api/server-time.ts'
import { readCount } from '../../format/number.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField } from '../../parts/field.tsx'
import { Badge, Empty } from '../../parts/notice.tsx'
import { Answer } from '../../parts/page.tsx'
import { MoreButton, Table } from '../../parts/table.tsx'
import { type LineFilter, matchesFilter, timeOf } from '../../stream/line-filter.ts'
import { useLiveTail } from '../../stream/live-tail.ts'
import { ENDS } from './end-state.tsx'
import { ReceiptDrawer } from './receipt.tsx'
import { requestColumns } from './request-columns.tsx'
import { RequestFilters } from './request-filters.tsx'

const NO_FILTER: LineFilter & { receipt: string } = {
  model: '',
  key: '',
  status: '',
  end: '',
  id: '',
  account: '',
  channel: '',
  since: '',
  first: '',
  last: '',
  receipt: '',
}

const idOf = (line: RequestLine) => line.id

/** The log of requests: searched, paged, live, each with its receipt. */
export function RequestLog({
  isForAll = false,
  empty,
}: {
  /** Of every account, for those who see them. */
  isForAll?: boolean
  empty: ComponentChildren
}) {
  const at = isForAll ? '/api/admin' : '/api'
  const { state, change, open } = useAddressState(NO_FILTER)
  const { receipt, ...now } = state
  const filter = useSettled(now.id.length > 0 && now.id.length < 4 ? { ...now, id: '' } : now)
  const key = JSON.stringify(filter)
  const list = useCursorList(timeOf(filter, 0) && key, idOf, (cursor, signal) =>
    call(`GET ${at}/requests`, { query: { ...queryOf(filter, isForAll), cursor } }, signal),
  )
  const [isLive, setLive] = useState(false)
  const [timesCleared, setTimesCleared] = useState(0)
  const { prepend, reload } = list
  const onLines = useCallback(
    (lines: readonly RequestLine[]) => prepend(lines.filter(line => matchesFilter(line, filter))),
    // `key` stands for the filter, which is a new object each time.
    [key, prepend],
  )
  const isConnected = useLiveTail(isLive ? `${at}/live/requests` : undefined, onLines, reload)
  const turnLive = (isOn: boolean) => {
    setLive(isOn)
    // What was let go of is there again, page by page.
    if (!isOn && list.data?.length === MOST_LIVE) reload()
  }
  const isUnread = timeOf(now, 0) === undefined
  const isFiltered = Object.values(now).some(value => value !== '')
  const clear = () => {
    change({ ...NO_FILTER, receipt })
    setTimesCleared(timesCleared + 1)
  }
  return (
    <>
      {/* Made anew when they are cleared, for what was typed to find a model. */}
      <RequestFilters
        key={timesCleared}
        filter={now}
        change={change}
        isForAll={isForAll}
        takesFocus={timesCleared > 0}
      />
      <div class="row">
        <CheckField label="Live: show requests as they end" value={isLive} onValue={turnLive} />
        <span role="status">
          {isLive ? (
            <Badge kind={isConnected ? 'good' : 'warn'}>{isConnected ? 'Live' : 'Connecting'}</Badge>
          ) : null}
        </span>
        {isFiltered ? (
          <Button small kind="quiet" onClick={clear}>
            Clear filters
          </Button>
        ) : null}
        {isUnread ? null : (
          <a
            class="button small quiet"
            href={addressOf(`GET ${at}/requests.csv`, { query: queryOf(filter, isForAll) })}
            download
          >
            Download CSV
          </a>
        )}
      </div>
      {isUnread ? null : (
        <Answer query={list} what="requests">
          {items =>
            items.length > 0 ? (
              <Table
                label="Requests"
                columns={requestColumns(isForAll, id => open({ receipt: id }))}
                rows={items}
                keyOf={idOf}
                more={list.more}
              />
            ) : list.more !== undefined ? (
              <Empty title="No request matches so far" action={<MoreButton more={list.more} />}>
                The newest were searched. A time narrows it down.
              </Empty>
            ) : isFiltered ? (
              <Empty title="No request matches">
                Widen the filters, or clear them.
                {filter.id !== '' || filter.status === '401' ? <NeverInLog isForAll={isForAll} /> : null}
              </Empty>
            ) : (
              empty
            )
          }
        </Answer>
      )}
      {receipt === '' ? null : (
        <ReceiptDrawer id={receipt} isForAll={isForAll} onClose={() => change({ receipt: '' })} />
      )}
    </>
  )
}

/** Why somebody may look for a request in vain. */
function NeverInLog({ isForAll }: { isForAll: boolean }) {
  return (
    <>
      {' '}
      In no request log are requests without a good key, since they are nobody's, those that only count tokens
      or ask about models, videos or stored responses, and those whose path is wrong.
      {isForAll ? " The gateway's own log has all but the last by their request ids." : null}
    </>
  )
}

/** The conditions that are set, as the API names them. */
function queryOf(filter: LineFilter, isForAll: boolean) {
  const { model, key, status, id, end, account, channel } = filter
  const end_state = ENDS.find(({ value }) => value === end)?.value
  const own = { model, key_id: readCount(key), status, id, end_state, ...timeOf(filter, serverNow()) }
  return isForAll ? { ...own, account_id: readCount(account), channel } : own
}
