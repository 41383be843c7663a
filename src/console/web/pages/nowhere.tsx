import { Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'

/** What stands where there is no page. */
export function NowherePage() {
  return (
    <Page title="There is no such page">
      <Empty
        title="Nothing is here"
        action={
          <a class="alone" href="/">
            Go to the overview
          </a>
        }
      >
        The address may be from an older version, or mistyped.
      </Empty>
    </Page>
  )
}
