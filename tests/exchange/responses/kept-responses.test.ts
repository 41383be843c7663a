import { expect, spyOn, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { KeptResponses } from '@/exchange/responses/kept-responses.ts'
import { compactions } from '@/stored-responses/compaction.ts'
import { responseStore } from '@/stored-responses/store.ts'
import { createLog } from '@/telemetry/log.ts'

const database = await fileDatabase()
const store = responseStore({ database, secretBox: box })
const SILENT_MS = 10_000
const BEAT_MS = 2_000

test.each(['a process begins', 'the database is back', 'the clock of the database was set forward'])(
  'once %s, a background response is failed when its process has had the time to be heard, and not before',
  async what => {
    const clock = manualClock()
    let ahead = 0
    const kept = new KeptResponses({
      store,
      compactions: compactions(box),
      storesUnasked: false,
      // So much less has passed here than by the clock of the database.
      clock: { ...clock, elapsed: () => clock.elapsed() - ahead },
      log: createLog({ level: 'silent', format: 'json' }),
    })
    /** Goes on for so long, by a beat at a time. */
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += BEAT_MS) {
        clock.advance(BEAT_MS)
        await kept.beat()
      }
    }
    if (what !== 'a process begins') await pass(2 * SILENT_MS)
    const made = { accountId: 1, id: `resp_${crypto.randomUUID()}` }
    await store.add({
      ...made,
      previousId: undefined,
      status: 'in_progress',
      background: true,
      model: 'm',
      input: [],
      response: `{"id":"${made.id}","output":[]}`,
      events: [],
      createdAt: Date.now(),
    })
    await database.sql`update stored_response set seen_at = now() - interval '1 minute' where id = ${made.id}`
    if (what === 'the database is back') {
      const away = spyOn(store, 'abandoned').mockRejectedValueOnce(new Error('away'))
      await expect(kept.beat()).rejects.toThrow('away')
      away.mockRestore()
    } else if (what === 'the clock of the database was set forward') {
      ahead = 60_000
    }
    await kept.beat()
    const statusAfter = async (ms: number) => {
      await pass(ms)
      return (await store.find(made))?.status
    }
    expect(await statusAfter(0)).toBe('in_progress')
    expect(await statusAfter(SILENT_MS - BEAT_MS)).toBe('in_progress')
    expect(await statusAfter(BEAT_MS)).toBe('failed')
    await kept.close(0)
  },
)
