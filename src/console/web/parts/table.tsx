import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { More } from '../api/query.ts'
import { mostPlaces } from '../format/money.ts'
import { localTime } from '../format/time.ts'
import { Button } from './button.tsx'
import { Money } from './money.tsx'
import { FailureNotice } from './notice.tsx'

/** A column of a table, and what it shows of a row. */
export interface Column<Row> {
  /** Empty for the column of actions. */
  label: string
  /** `rows`: all that are shown. */
  cell(row: Row, rows: readonly Row[]): ComponentChildren
  /** `wide`: only where there is room; elsewhere its first cell says it, as `narrow`. */
  kind?:
    | 'primary-cell'
    | 'wide'
    | 'number'
    | 'number wide'
    | 'nowrap'
    | 'nowrap wide'
    | 'fit'
    | 'bare'
    | 'fit bare'
}

/** The column of what may be done to a row; null where nothing may. */
export function actionColumn<Row>(buttons: (row: Row) => ComponentChildren): Column<Row> {
  return {
    label: '',
    kind: 'fit bare',
    cell: row => {
      const found = buttons(row)
      return found === null ? null : <div class="row-actions">{found}</div>
    },
  }
}

/** A column of amounts, their points one below the other; null where there is none. */
export function moneyColumn<Row>(
  label: string,
  amountOf: (row: Row) => string | null,
  style?: 'signed',
): Column<Row> {
  let measured: readonly Row[] | undefined
  let places = 0
  return {
    label,
    kind: 'number',
    cell: (row, rows) => {
      if (rows !== measured) {
        measured = rows
        places = mostPlaces(rows.flatMap(other => amountOf(other) ?? []))
      }
      const amount = amountOf(row)
      if (amount === null) return <span class="soft">none</span>
      return <Money amount={amount} style={style ?? 'exact'} places={places} />
    },
  }
}

interface TableProps<Row> {
  /** What the rows are, for those who hear it. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string | number
  /** `cards`: on a narrow screen each row is a card with its labels. `compact`: small enough to stay a table. */
  kind?: 'cards' | 'compact'
  /** Loads the next page; absent on the last one. */
  more?: More | undefined
}

/**
 * Scrolls within itself if it must. The roles say again what the elements are, since their display as cards would take
 * it from them.
 */
export function Table<Row>({ label, columns, rows, keyOf, kind = 'cards', more }: TableProps<Row>) {
  const { list: body, onAsked } = useGoingOn<HTMLTableSectionElement>(more, rows.length)
  const { wrap, onFocusIn } = useKeptFocus()
  return (
    // A group and no region: where it has a heading, that names the region around it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div ref={wrap} class="table-wrap" role="group" aria-label={label} tabIndex={0} onFocusIn={onFocusIn}>
      {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
      <table class={`table ${kind}`} role="table">
        <caption class="unseen">{label}</caption>
        {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
        <thead role="rowgroup">
          {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
          <tr role="row">
            {columns.map(column => (
              // biome-ignore lint/a11y/noRedundantRoles: see above
              <th key={column.label} role="columnheader" scope="col" class={column.kind ?? ''}>
                {column.label === '' ? <span class="unseen">Actions</span> : column.label}
              </th>
            ))}
          </tr>
        </thead>
        {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
        <tbody ref={body} role="rowgroup">
          {rows.map(row => (
            // biome-ignore lint/a11y/noRedundantRoles: see above
            <tr key={keyOf(row)} role="row">
              {columns.map(column => (
                // biome-ignore lint/a11y/noRedundantRoles: see above
                <td key={column.label} role="cell" class={column.kind ?? ''} data-label={column.label}>
                  {column.cell(row, rows)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {more === undefined ? null : (
        <div class="more">
          <MoreButton more={more} onAsked={onAsked} />
        </div>
      )}
    </div>
  )
}

/** With what a button did it may be gone: then its row has the focus or, if that is gone as well, the table. */
function useKeptFocus() {
  const wrap = useRef<HTMLDivElement>(null)
  const focused = useRef<{ element: Element; row: HTMLElement | null }>(undefined)
  useEffect(() => {
    if (focused.current === undefined || focused.current.element.isConnected) return
    const { row } = focused.current
    focused.current = undefined
    if (document.activeElement !== document.body) return
    if (row?.isConnected) row.tabIndex = -1
    ;(row?.isConnected ? row : wrap.current)?.focus({ preventScroll: true })
  })
  const onFocusIn = ({ target }: FocusEvent) => {
    if (target instanceof Element) focused.current = { element: target, row: target.closest('tr') }
  }
  return { wrap, onFocusIn }
}

/** With the last page the button is gone that asked for it, and one goes on at the first row of that. */
export function useGoingOn<List extends HTMLElement>(more: More | undefined, count: number) {
  const list = useRef<List>(null)
  /** How many rows there were when more were asked for. */
  const before = useRef(Number.POSITIVE_INFINITY)
  useEffect(() => {
    const row = list.current?.children[before.current]
    const isLost = document.activeElement === document.body
    if (more !== undefined || !isLost || !(row instanceof HTMLElement)) return
    row.tabIndex = -1
    row.focus({ preventScroll: true })
  }, [more === undefined])
  const onAsked = () => {
    before.current = count
  }
  return { list, onAsked }
}

/** Asks for the next page, and says where a search has come to. */
export function MoreButton({
  more: { load, busy, failure, searchedTo },
  onAsked,
}: {
  more: More
  onAsked?: () => void
}) {
  return (
    <>
      <FailureNotice failure={failure} />
      {searchedTo === undefined ? null : (
        <p role="status" class="soft">
          Searched back to {localTime(searchedTo)}.
        </p>
      )}
      <Button
        busy={busy}
        onClick={() => {
          onAsked?.()
          load()
        }}
      >
        {searchedTo === undefined ? 'Show more' : 'Search further back'}
      </Button>
    </>
  )
}
