import type { ComponentChildren } from 'preact'
import type { CursorList } from '../api/query.ts'
import { Answer } from './page.tsx'
import { type Column, Table } from './table.tsx'

interface ListTableProps<Row> {
  /** What the rows are. */
  label: string
  list: CursorList<Row>
  columns: readonly Column<Row>[]
  /** What stands in its place where there are none. */
  empty: ComponentChildren
}

/** A list that comes page by page, as a table. */
export function ListTable<Row>({ label, list, columns, empty }: ListTableProps<Row>) {
  return (
    <Answer query={list} what={label.toLowerCase()}>
      {rows =>
        rows.length === 0 ? (
          empty
        ) : (
          <Table label={label} columns={columns} rows={rows} keyOf={list.idOf} more={list.more} />
        )
      }
    </Answer>
  )
}
