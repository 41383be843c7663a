import { Empty } from '../../../parts/notice.tsx'

/** In place of a form for models while there is nothing to serve them. */
export function NoChannel() {
  return (
    <Empty
      title="Add a channel first"
      action={
        <a class="button primary" href="/admin/channels?new=yes">
          Add a channel
        </a>
      }
    >
      A model is served through a channel: a vendor and your key there.
    </Empty>
  )
}
