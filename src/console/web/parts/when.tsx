import { serverNow } from '../api/server-time.ts'
import { localDay, localTime, sinceTime, utcTime } from '../format/time.ts'

/** A moment in the reader's zone; its title says it in UTC. Where there is no room for it, only day and time part. */
export function When({ iso, style = 'time' }: { iso: string | null; style?: 'time' | 'day' | 'since' }) {
  if (iso === null) return <span class="soft">Never</span>
  const text =
    style === 'time' ? localTime(iso) : style === 'day' ? localDay(iso) : sinceTime(iso, serverNow())
  return (
    <time dateTime={iso} title={utcTime(iso)}>
      {text.replaceAll(/(?<!,) /g, '\u00a0')}
    </time>
  )
}
