import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { mayPass } from '../api/failure.ts'
import type { Query } from '../api/query.ts'
import { arriveAt, useReturn } from './arrival.ts'
import { Button } from './button.tsx'
import { FailureNotice, Waiting } from './notice.tsx'

interface PageProps {
  title: string
  /** One sentence on what one does here. */
  lead?: ComponentChildren
  actions?: ComponentChildren
  children: ComponentChildren
}

/** A page: names the document, takes the focus to its heading, and begins at the top for whoever does not come back to it. */
export function Page({ title, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Tollgate`
  }, [title])
  useReturn()
  useEffect(() => arriveAt(heading.current), [])
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead === undefined ? null : <p>{lead}</p>}
        </div>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/** What a question was answered, or that it waits, or why there is no answer, or no newer one, and how to ask again. */
export function Answer<Data>({
  query: { data, failure, busy, reload },
  what,
  children,
}: {
  query: Query<Data>
  what: string
  children: (data: Data) => ComponentChildren
}) {
  return (
    <>
      {failure === undefined ? null : (
        <div class="stack tight">
          <FailureNotice failure={failure} />
          {mayPass(failure) ? (
            <div>
              <Button busy={busy} onClick={reload}>
                Try again
              </Button>
            </div>
          ) : null}
        </div>
      )}
      {data !== undefined ? children(data) : failure === undefined ? <Waiting what={what} /> : null}
    </>
  )
}
