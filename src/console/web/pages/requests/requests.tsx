import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { RequestLog } from './request-log.tsx'

/** A holder's requests. */
export function RequestsPage() {
  return (
    <Page
      title="Requests"
      lead="Every request of your keys, with its receipt: what it used, what it cost and why."
    >
      <RequestLog
        empty={
          <Empty
            title="No requests yet"
            action={
              <div class="actions">
                <a class="button primary" href="/keys?new=yes">
                  Create a key
                </a>
                <a class="button" href="/playground">
                  Open the playground
                </a>
              </div>
            }
          >
            Create a key and paste one of its snippets, or try a model in the playground.
          </Empty>
        }
      />
    </Page>
  )
}
