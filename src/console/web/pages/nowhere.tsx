import type { ComponentChildren } from 'preact'
import { Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'

/** What stands where there is no page. */
export function NowherePage() {
  return (
    <NoSuch what="page" leadsTo="/" name="Go to the overview">
      The address may be from an older version, or mistyped.
    </NoSuch>
  )
}

/** What stands where an address names something that is not there: why that may be, and the way on. */
export function NoSuch({
  what,
  leadsTo,
  name,
  children,
}: {
  what: string
  leadsTo: string
  name: string
  children: ComponentChildren
}) {
  return (
    <Page title={`There is no such ${what}`}>
      <Empty
        title="Nothing is here"
        action={
          <a class="button primary" href={leadsTo}>
            {name}
          </a>
        }
      >
        {children}
      </Empty>
    </Page>
  )
}
