import { expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { responseStore } from '@/stored-responses/store.ts'
import type { NewResponse, StoredEvent } from '@/stored-responses/stored-response.ts'

const MB = 1024 * 1024

const database = await fileDatabase()
const store = responseStore({ database, secretBox: box })
/** When responses were made, by the clock of a gateway: it is not believed. */
const CREATED_AT = 1_700_000_000_000
let count = 0

/** How many bytes the last one who read was told of before. */
let toldBytes = 0
const told = (bytes: number) => {
  toldBytes = bytes
}

function response(fields: Partial<NewResponse> = {}): NewResponse {
  count += 1
  return {
    id: `resp_${count}`,
    accountId: 1,
    previousId: undefined,
    status: 'completed',
    background: false,
    model: 'm',
    input: [`{"n":${count}}`],
    response: `{"id":"resp_${count}","output":[]}`,
    events: [],
    createdAt: CREATED_AT,
    ...fields,
  }
}

/** Leaves a response so much of its time. */
const expire = ({ id }: NewResponse, left: string) =>
  database.sql`update stored_response set expires_at = now() + ${left}::text::interval where id = ${id}`

const event = (number: number): StoredEvent => ({ number, data: `{"sequence_number":${number}}` })

test('what was stored is found by its account alone', async () => {
  const made = response()
  await store.add(made)
  expect(await store.find(made)).toEqual({
    id: made.id,
    status: 'completed',
    background: false,
    response: made.response,
  })
  expect(await store.findInput(made)).toEqual([...made.input])
  const stranger = { accountId: 2, id: made.id }
  expect(await store.find(stranger)).toBeUndefined()
  expect(await store.findInput(stranger)).toBeUndefined()
  expect(await store.conversation(stranger, MB, told)).toBe('missing')
  expect(await store.eventsAfter(stranger, -1)).toEqual([])
  expect(await store.remove(stranger)).toBe(false)
  expect(await store.remove(made)).toBe(true)
})

test('it is there for thirty days by the clock of the database, and then swept with its events', async () => {
  const made = response({ events: [event(0)] })
  await store.add(made)
  const [days] = await database.sql`
    select expires_at between now() + interval '30 days' - interval '1 minute' and now() + interval '30 days' as thirty
    from stored_response where id = ${made.id}`
  expect(days?.['thirty']).toBe(true)
  await expire(made, '1 minute')
  expect(await store.find(made)).toBeDefined()
  await expire(made, '0')
  expect(await store.find(made)).toBeUndefined()
  expect(await store.conversation(made, MB, told)).toBe('missing')
  expect(await store.remove(made)).toBe(false)
  expect(await store.sweep()).toBeGreaterThanOrEqual(1)
  expect(await database.sql`select 1 from stored_response where id = ${made.id}`).toHaveLength(0)
  expect(
    await database.sql`select 1 from stored_response_events where response_id = ${made.id}`,
  ).toHaveLength(0)
})

test('items are found by their ids, by their account alone, as long as their response is there', async () => {
  const item = (id: string, text: string) => JSON.stringify({ id, type: 'message', text })
  const made = response({ response: `{"output":[${item('msg_a', 'A')},${item('msg_b', 'B')}]}` })
  const running = response({ status: 'queued' })
  await store.add(made)
  await store.add(running)
  const end = { status: 'completed', response: `{"output":[${item('msg_c', 'C')}]}`, events: [] } as const
  await store.finish(running.id, end)
  const asked = new Set(['msg_b', 'msg_c', 'msg_none'])
  expect(await store.items(1, asked, MB, told)).toEqual(
    new Map([
      ['msg_b', item('msg_b', 'B')],
      ['msg_c', item('msg_c', 'C')],
    ]),
  )
  expect(await store.items(1, asked, 60, told)).toBe('too-large')
  expect(await store.items(2, asked, MB, told)).toEqual(new Map())
  await expire(made, '0')
  await expire(running, '0')
  expect(await store.items(1, asked, MB, told)).toEqual(new Map())
})

test('items take the memory of the largest response that they stand in, beside those that were found, and none of inputs', async () => {
  const item = (id: string) => JSON.stringify({ id, type: 'message', text: id })
  const input = ['x'.repeat(10_000)]
  const ids = Array.from({ length: 10 }, (_, index) => `msg_told_${index}`)
  for (const id of ids) await store.add(response({ input, response: `{"output":[${item(id)}]}` }))
  let sum = 0
  const found = await store.items(1, new Set(ids), MB, bytes => {
    sum += bytes
  })
  expect(found).toHaveProperty('size', 10)
  expect(sum).toBe(9 * item('msg_told_0').length + `{"output":[${item('msg_told_0')}]}`.length)
})

test('how long a response and its input are is known without reading them, also once it ended', async () => {
  const made = response({ status: 'queued', background: true, input: ['x'.repeat(500)] })
  await store.add(made)
  const head = { background: true, inputBytes: 500 }
  expect(await store.head(made)).toEqual({ ...head, status: 'queued', responseBytes: made.response.length })
  const ended = `{"output":["${'y'.repeat(1000)}"]}`
  await store.finish(made.id, { status: 'completed', response: ended, events: [] })
  expect(await store.head(made)).toEqual({ ...head, status: 'completed', responseBytes: ended.length })
  expect(await store.head({ ...made, accountId: 2 })).toBeUndefined()
})

test('of one that an earlier version stored, both are as long as they are together at the most', async () => {
  const made = response()
  await store.add(made)
  await database.sql`update stored_response set response_bytes = null where id = ${made.id}`
  const both = Buffer.byteLength([...made.input, made.response].join(''))
  expect(await store.head(made)).toMatchObject({ responseBytes: both, inputBytes: both })
})

test('a conversation is its turns, oldest first', async () => {
  const first = response()
  const second = response({ previousId: first.id })
  const third = response({ previousId: second.id })
  for (const made of [first, second, third]) await store.add(made)
  const turn = ({ input, response: text }: NewResponse) => ({ input: [...input], response: text })
  expect(await store.conversation(third, MB, told)).toEqual([first, second, third].map(turn))
  expect(await store.conversation(second, MB, told)).toEqual([first, second].map(turn))
})

test('a conversation that is broken, too large or not at its end says which', async () => {
  const first = response({ input: ['x'.repeat(1000)] })
  const second = response({ previousId: first.id })
  await store.add(first)
  await store.add(second)
  expect(await store.conversation(second, 500, told)).toBe('too-large')
  await store.remove(first)
  expect(await store.conversation(second, MB, told)).toBe('missing')
  const running = response({ status: 'in_progress', background: true })
  await store.add(running)
  expect(await store.conversation(running, MB, told)).toBe('running')
  const ended = response()
  const later = response({ previousId: ended.id, status: 'queued', background: true })
  await store.add(ended)
  await store.add(later)
  expect(await store.conversation(later, MB, told)).toBe('running')
})

test('a conversation is as large as its inputs and its responses, also where one came later', async () => {
  const first = response()
  const second = response({ previousId: first.id })
  const running = response({ previousId: second.id, status: 'queued', background: true })
  for (const made of [first, second, running]) await store.add(made)
  const bytes = Buffer.byteLength([first, second].flatMap(made => [...made.input, made.response]).join(''))
  expect(await store.conversation(second, bytes, told)).toHaveLength(2)
  expect(toldBytes).toBe(bytes)
  const full = () => {
    throw new Error('no memory')
  }
  await expect(store.conversation(second, bytes, full)).rejects.toThrow('no memory')
  expect(await store.conversation(second, bytes - 1, told)).toBe('too-large')
  const ended = `{"output":["${'x'.repeat(1000)}"]}`
  await store.finish(running.id, { status: 'completed', response: ended, events: [] })
  expect(await store.conversation(running, 1000, told)).toBe('too-large')
})

test('a conversation is there as long as all of its turns', async () => {
  const first = response()
  const second = response({ previousId: first.id })
  await store.add(first)
  await store.add(second)
  await expire(first, '0')
  expect(await store.conversation(second, MB, told)).toBe('missing')
})

test('a conversation does not reach into another account', async () => {
  const theirs = response({ accountId: 2 })
  const mine = response({ previousId: theirs.id })
  await store.add(theirs)
  await store.add(mine)
  expect(await store.conversation(mine, MB, told)).toBe('missing')
})

test('events come in order and from any number', async () => {
  const made = response({ status: 'queued', background: true })
  await store.add(made)
  expect(await store.append(made.id, [event(0), event(1)])).toBe(true)
  expect((await store.find(made))?.status).toBe('in_progress')
  expect(await store.append(made.id, [event(2)])).toBe(true)
  expect(await store.eventsAfter(made, -1)).toEqual([event(0), event(1), event(2)])
  expect(await store.eventsAfter(made, 0)).toEqual([event(1), event(2)])
  expect(await store.eventsAfter(made, 2)).toEqual([])
})

test('events are fetched fifty batches at a time, wherever one begins', async () => {
  const made = response({ status: 'queued', background: true })
  await store.add(made)
  for (let number = 0; number < 101; number += 1) await store.append(made.id, [event(number)])
  const numbers = async (after: number) => (await store.eventsAfter(made, after)).map(({ number }) => number)
  const fifty = (first: number) => Array.from({ length: 50 }, (_, index) => first + index)
  expect(await numbers(-1)).toEqual(fifty(0))
  expect(await numbers(49)).toEqual(fifty(50))
  expect(await numbers(99)).toEqual([100])
})

test('a batch that comes again, with what came after it, takes the place of the first', async () => {
  const made = response({ status: 'queued', background: true })
  await store.add(made)
  await store.append(made.id, [event(0)])
  await store.append(made.id, [event(0), event(1)])
  expect(await store.eventsAfter(made, -1)).toEqual([event(0), event(1)])
  expect(await store.eventsAfter(made, 0)).toEqual([event(1)])
})

test('the end is made of all events, also of those that are being written', async () => {
  const made = response({ status: 'queued', background: true, events: [event(0)] })
  const other = response({ status: 'queued', background: true, events: [event(1)] })
  await store.add(made)
  await store.add(other)
  let seen: readonly StoredEvent[] = []
  let ending: Promise<boolean> | undefined
  await database.sql.begin(async tx => {
    await tx`update stored_response set seen_at = now() where id = ${made.id}`
    await tx`update stored_response_events set response_id = ${made.id} where response_id = ${other.id}`
    ending = store.finish(made.id, (_, events) => {
      seen = events
      return { status: 'failed', response: '{}', events: [] }
    })
    await until(async () => {
      const waiting = await database.sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
  })
  expect(await ending).toBe(true)
  expect(seen).toEqual([event(0), event(1)])
})

test('a response ends once, and nothing is added after that', async () => {
  const made = response({ status: 'queued', background: true, events: [event(0)] })
  await store.add(made)
  const seen: unknown[] = []
  const end = { status: 'cancelled', response: '{"output":[]}', events: [event(1)] } as const
  expect(
    await store.finish(made.id, (text, events) => {
      seen.push(text, events)
      return end
    }),
  ).toBe(true)
  expect(seen).toEqual([made.response, [event(0)]])
  expect(await store.finish(made.id, { ...end, status: 'completed' })).toBe(false)
  expect(await store.append(made.id, [event(2)])).toBe(false)
  expect((await store.find(made))?.status).toBe('cancelled')
  expect(await store.eventsAfter(made, -1)).toEqual([event(0), event(1)])
})

test('a heartbeat names what does not run any more, and its absence is noticed', async () => {
  const alive = response({ status: 'queued', background: true })
  const ended = response({ status: 'queued', background: true })
  const silent = response({ status: 'in_progress', background: true })
  for (const made of [alive, ended, silent]) await store.add(made)
  await store.finish(ended.id, { status: 'failed', response: '{}', events: [] })
  await database.sql`update stored_response set seen_at = now() - interval '1 minute'
    where id in ${database.sql([alive.id, silent.id])}`
  expect(await store.beat([alive.id, ended.id, 'resp_gone'])).toEqual([ended.id, 'resp_gone'])
  expect((await store.abandoned(10_000)).ids).toEqual([silent.id])
})
