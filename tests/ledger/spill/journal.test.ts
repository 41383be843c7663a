import { afterAll, describe, expect, test } from 'bun:test'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { costOf, cutOff, holdOf, ledgerFixture, newId } from '#tests/ledger/fixture.ts'
import type { Ledger } from '@/ledger/ledger.ts'
import { crc32c } from '@/ledger/spill/crc32c.ts'
import {
  decodeTexts,
  encodeRecords,
  encodeTexts,
  type JournalFile,
  openJournal,
  openJournalFile,
  readSettlement,
} from '@/ledger/spill/journal.ts'
import { openSpill } from '@/ledger/spill/spill.ts'
import { chargeLost } from '@/ledger/store.ts'
import type { HoldRequest, Settlement } from '@/ledger/types.ts'
import { createLog } from '@/telemetry/log.ts'

const fixture = await ledgerFixture()
afterAll(() => fixture.close())

const decodeRecords = (bytes: Uint8Array) => decodeTexts(bytes, readSettlement)
const settlement = (costNano: bigint): Settlement => costOf({ id: newId(), accountId: 1, keyId: 2 }, costNano)

test('the checksum is CRC-32C', () => {
  expect(crc32c(new TextEncoder().encode('123456789'))).toBe(0xe3069283)
})

describe('records', () => {
  const written = [settlement(1n), settlement(2n ** 62n)]
  const bytes = encodeRecords(written)

  test('come back as they were', () => {
    expect(decodeRecords(bytes)).toEqual({ items: written, intactBytes: bytes.length })
  })

  test('are read up to the torn one, wherever it is torn', () => {
    const first = encodeRecords(written.slice(0, 1)).length
    for (let length = first; length < bytes.length; length += 1) {
      expect(decodeRecords(bytes.subarray(0, length))).toEqual({
        items: written.slice(0, 1),
        intactBytes: first,
      })
    }
  })

  test('are read before and behind a damaged one, wherever it is damaged: no wrong bit is money', () => {
    const third = settlement(3n)
    const all = Buffer.concat([bytes, encodeRecords([third])])
    const lengths = [...written, third].map(one => encodeRecords([one]).length)
    const [first = 0, second = 0] = lengths
    for (let at = 0; at < all.length; at += 1) {
      // A Buffer's own slice would be a view.
      const damaged = new Uint8Array(all)
      damaged[at] = (damaged[at] ?? 0) ^ 4
      const hit = at < first ? 0 : at < first + second ? 1 : 2
      expect(decodeRecords(damaged)).toEqual({
        items: [...written, third].filter((_, place) => place !== hit),
        intactBytes: all.length - (lengths[hit] ?? 0),
      })
    }
  })
})

test.each([
  ['no JSON', 'charged'],
  ['without an id', '{"accountId":1,"keyId":2,"costNano":"1","costPico":"1000"}'],
  ['without an account', '{"id":"x","keyId":2,"costNano":"1","costPico":"1000"}'],
  ['without a key', '{"id":"x","accountId":1,"costNano":"1","costPico":"1000"}'],
  ['whose cost is a number', '{"id":"x","accountId":1,"keyId":2,"costNano":1,"costPico":"1000"}'],
  ['without an exact cost', '{"id":"x","accountId":1,"keyId":2,"costNano":"1"}'],
])(
  'an undamaged record that is no settlement (%s) is never charged, and those around it are',
  (_what, text) => {
    const [first, last] = [settlement(1n), settlement(2n)]
    const [before, after] = [encodeRecords([first]), encodeRecords([last])]
    const bytes = Buffer.concat([before, encodeTexts([text]), after])
    expect(decodeRecords(bytes)).toEqual({ items: [first, last], intactBytes: before.length + after.length })
  },
)

const SILENT = { error: () => undefined, info: () => undefined }

/** A file in memory with so much room, which writes what fits before it fails, as a full disk does. */
function smallDisk(room: { bytes: number }) {
  let content = new Uint8Array(0)
  const file: JournalFile = {
    async write(bytes, position) {
      const fits = Math.max(0, Math.min(bytes.length, room.bytes - position))
      const grown = new Uint8Array(Math.max(content.length, position + fits))
      grown.set(content)
      grown.set(bytes.subarray(0, fits), position)
      content = grown
      if (fits < bytes.length) throw new Error('ENOSPC')
    },
    datasync: async () => undefined,
    truncate: async length => {
      content = content.slice(0, length)
    },
    read: async length => content.slice(0, length),
    keep: () => Promise.reject(new Error('nothing is damaged')),
    close: async () => undefined,
  }
  return { file, read: () => decodeRecords(content), length: () => content.length }
}

describe('a full disk', () => {
  test('is told once, leaves no part of a record, and is over when there is room', async () => {
    const room = { bytes: 8192 }
    const disk = smallDisk(room)
    const told: string[] = []
    const journal = openJournal(disk.file, {
      error: ({ err }: { err: Error }) => void told.push(err.message),
      info: (message: string) => void told.push(message),
    })
    const [first, second] = [settlement(1n), settlement(2n)]
    await journal.append(first)
    room.bytes = 200
    await expect(journal.append(second)).rejects.toThrow('ENOSPC')
    expect([journal.healthy(), await journal.probe()]).toEqual([false, false])
    expect(disk.length()).toBe(encodeRecords([first]).length)
    room.bytes = 8192
    expect([await journal.probe(), await journal.probe(), journal.healthy()]).toEqual([true, true, true])
    await journal.append(second)
    expect(disk.read().items).toEqual([first, second])
    expect(told).toEqual(['ENOSPC', 'the journal can be written again'])
  })
})

test('what is appended is written through to the disk before it answers', async () => {
  const synced = Promise.withResolvers<void>()
  const journal = openJournal({ ...smallDisk({ bytes: 8192 }).file, datasync: () => synced.promise }, SILENT)
  let hasAnswered = false
  const appended = journal.append(settlement(1n)).then(() => {
    hasAnswered = true
  })
  await new Promise(resolve => setImmediate(resolve))
  expect(hasAnswered).toBe(false)
  synced.resolve()
  await appended
})

test('what is appended at once is on disk when it answers, and what comes during a replay is not lost', async () => {
  const path = join(fixture.directory, 'alone')
  const journal = openJournal(await openJournalFile(path), SILENT)
  const settlements = Array.from({ length: 50 }, (_, index) => settlement(BigInt(index)))
  await Promise.all(settlements.map(one => journal.append(one)))
  expect(decodeRecords(readFileSync(path)).items).toEqual(settlements)
  const late = settlement(7n)
  await journal.replay(async replayed => {
    expect([...replayed]).toEqual(settlements)
    await journal.append(late)
  })
  expect(journal.isEmpty()).toBe(false)
  const again: Settlement[] = []
  await journal.replay(async replayed => {
    again.push(...replayed)
  })
  expect([again.at(-1), journal.isEmpty(), readFileSync(path).length]).toEqual([late, true, 0])
  await journal.close()
})

test('what could not be posted is in the journal for the next time, and is in it until all of it is posted', async () => {
  const disk = smallDisk({ bytes: 8192 })
  const journal = openJournal(disk.file, SILENT)
  expect([journal.healthy(), journal.isEmpty()]).toEqual([true, true])
  await journal.replay(() => Promise.reject(new Error('nothing is to be posted')))
  const kept = settlement(1n)
  await journal.append(kept)
  await expect(journal.replay(() => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect([disk.read().items, journal.isEmpty()]).toEqual([[kept], false])
  const posted = Promise.withResolvers<void>()
  const replayed = journal.replay(() => posted.promise)
  await new Promise(resolve => setImmediate(resolve))
  expect(disk.read().items).toEqual([kept])
  posted.resolve()
  await replayed
  expect([disk.length(), journal.isEmpty()]).toEqual([0, true])
})

describe('one that was damaged while its process lives', () => {
  /** Damages the first of three, and puts the journal into service again. */
  async function damagedJournal(name: string, damage: (bytes: Buffer, first: number) => void) {
    const path = join(fixture.directory, name)
    const told: { fields: object; message: string | undefined }[] = []
    const log = {
      ...SILENT,
      error: (fields: object, message?: string) => void told.push({ fields, message }),
    }
    const journal = openJournal(await openJournalFile(path), log)
    const three = [settlement(1n), settlement(2n), settlement(3n)] as const
    for (const one of three) await journal.append(one)
    const damaged = readFileSync(path)
    damage(damaged, encodeRecords([three[0]]).length)
    writeFileSync(path, damaged)
    const posted: Settlement[] = []
    const replay = () => journal.replay(async settlements => void posted.push(...settlements))
    return { path, told, journal, three, damaged, posted, replay }
  }

  const flip = (bytes: Buffer) => bytes.writeUInt8(bytes.readUInt8(20) ^ 4, 20)
  const flipLength = (bytes: Buffer) => bytes.writeUInt8(bytes.readUInt8(3) ^ 4, 3)
  const blank = (bytes: Buffer, first: number) => bytes.fill(0, 0, first)

  test.each([
    ['a wrong bit', flip],
    ['a wrong length', flipLength],
    ['zeros', blank],
  ])(
    'is posted but for the damaged record (%s), kept, told of once, and takes what comes later',
    async (what, damage) => {
      const { path, told, journal, three, damaged, posted, replay } = await damagedJournal(what, damage)
      const [first, second, third] = three
      await replay()
      expect([posted, journal.isEmpty()]).toEqual([[second, third], true])
      expect(readFileSync(`${path}.torn`)).toEqual(damaged)
      const fields = { settlements: 2, torn_bytes: encodeRecords([first]).length, kept_as: `${path}.torn` }
      expect(told).toEqual([{ fields, message: expect.stringContaining('charge lost') }])
      const later = settlement(4n)
      await journal.append(later)
      await replay()
      await replay()
      expect([posted, journal.isEmpty()]).toEqual([[second, third, later], true])
      expect(told).toHaveLength(1)
      await journal.close()
    },
  )

  test('is posted but for what was cut off, which is kept as it is', async () => {
    const { path, told, journal, three, posted, replay } = await damagedJournal('shorter', () => undefined)
    truncateSync(path, readFileSync(path).length - 1)
    const left = readFileSync(path)
    await replay()
    expect([posted, journal.isEmpty()]).toEqual([three.slice(0, 2), true])
    expect(readFileSync(`${path}.torn`)).toEqual(left)
    expect(told).toMatchObject([{ fields: { settlements: 2 } }])
    await journal.close()
  })

  test('stays as it is where its disk takes no copy', async () => {
    // Its own name is as long as one may be.
    const name = 'l'.repeat(255)
    const { path, journal, damaged, posted, three, replay } = await damagedJournal(name, flip)
    await expect(replay()).rejects.toThrow('ENAMETOOLONG')
    expect([readFileSync(path), journal.isEmpty()]).toEqual([damaged, false])
    expect(posted).toEqual(three.slice(1))
    await journal.close()
  })

  test('is kept beside what was kept of it before', async () => {
    const { path, told, journal, damaged, replay } = await damagedJournal('again', flip)
    writeFileSync(`${path}.torn`, 'earlier')
    await replay()
    expect(readFileSync(`${path}.torn`, 'utf8')).toBe('earlier')
    expect(readFileSync(`${path}.torn-2`)).toEqual(damaged)
    expect(told).toMatchObject([{ fields: { kept_as: `${path}.torn-2` } }])
    await journal.close()
  })

  test('stays as it is where no copy can be kept, and where it could not be posted', async () => {
    const { path, told, journal, three, damaged, posted, replay } = await damagedJournal('no-copy', flip)
    await expect(journal.replay(() => Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(readFileSync(path)).toEqual(damaged)
    expect(readdirSync(fixture.directory)).not.toContain('no-copy.torn')
    const file = await openJournalFile(path)
    const full = openJournal({ ...file, keep: () => Promise.reject(new Error('ENOSPC')) }, SILENT)
    await full.append(three[0])
    writeFileSync(path, damaged)
    await expect(full.replay(async () => undefined)).rejects.toThrow('ENOSPC')
    expect([readFileSync(path), full.isEmpty(), told]).toEqual([damaged, false, []])
    await full.close()
    await replay()
    expect([posted, journal.isEmpty()]).toEqual([three.slice(1), true])
    await journal.close()
  })
})

test('whoever looks for room leaves the file as it was', async () => {
  const disk = smallDisk({ bytes: 8192 })
  const journal = openJournal(disk.file, SILENT)
  await journal.append(settlement(1n))
  const before = disk.length()
  expect(await journal.probe()).toBe(true)
  expect(disk.length()).toBe(before)
})

test('one thing is done to the file at a time, after what failed as well', async () => {
  const { file } = smallDisk({ bytes: 2 ** 20 })
  let [running, most] = [0, 0]
  const alone = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    running += 1
    most = Math.max(most, running)
    await new Promise(resolve => setImmediate(resolve))
    return act().finally(() => {
      running -= 1
    })
  }
  let fails = false
  const slow: JournalFile = {
    write: (bytes, position) => {
      const isFull = fails
      return alone(() => (isFull ? Promise.reject(new Error('ENOSPC')) : file.write(bytes, position)))
    },
    datasync: () => alone(() => file.datasync()),
    truncate: length => alone(() => file.truncate(length)),
    read: length => alone(() => file.read(length)),
    keep: bytes => alone(() => file.keep(bytes)),
    close: () => alone(() => file.close()),
  }
  const journal = openJournal(slow, SILENT)
  for (fails of [false, true, false]) {
    const results = await Promise.all([
      journal.append(settlement(1n)).then(
        () => 'written',
        () => 'refused',
      ),
      journal.probe(),
      journal.probe(),
    ])
    expect(results).toEqual(fails ? ['refused', false, false] : ['written', true, true])
  }
  const replayed: Settlement[] = []
  await Promise.all([
    journal.replay(async settlements => {
      replayed.push(...settlements)
    }),
    journal.probe(),
  ])
  await journal.close()
  expect([replayed.length, most]).toEqual([2, 1])
})

test("the files of a process are no other one's of the same name as long as it has them", async () => {
  const log = createLog({ level: 'silent', format: 'json' }, { write: () => undefined })
  const directory = join(fixture.directory, 'of-one-name')
  const first = await openSpill(directory, 'one', log)
  await expect(openSpill(directory, 'one', log)).rejects.toThrow('one.journal is in use')
  await first.close()
  const next = await openSpill(directory, 'one', log)
  await next.close()
  expect(readdirSync(directory)).toEqual([])
})

test('whoever takes in what others have left says so, and leaves its own files alone', async () => {
  const said: string[] = []
  const log = createLog({ level: 'info', format: 'json' }, { write: line => void said.push(line) })
  const directory = join(fixture.directory, 'own-and-left')
  const [own, left] = [await openSpill(directory, 'own', log), await openSpill(directory, 'left', log)]
  const [journaled, noted, dead] = [settlement(1n), settlement(2n), settlement(3n)]
  await own.journal.append(journaled)
  own.notes.add(noted)
  await left.journal.append(dead)
  await left.close()
  const taken: Settlement[] = []
  await own.adopt(async settlements => void taken.push(...settlements), new AbortController().signal)
  expect(taken).toEqual([dead])
  expect(said.map(line => JSON.parse(line))).toMatchObject([
    { level: 40, journal: join(directory, 'left.journal'), settlements: 1 },
  ])
  const read = (name: string) => decodeRecords(readFileSync(join(directory, name))).items
  expect([read('own.journal'), read('own-notes-1.journal')]).toEqual([[journaled], [noted]])
  await own.close()
})

test('what is on its way into the journal when its process ends is there for the next one', async () => {
  const log = createLog({ level: 'silent', format: 'json' }, { write: () => undefined })
  const directory = join(fixture.directory, 'at-the-end')
  const { journal, close } = await openSpill(directory, 'one', log)
  const last = settlement(1n)
  const appended = journal.append(last)
  await close()
  expect(decodeRecords(readFileSync(join(directory, 'one.journal'))).items).toEqual([last])
  await appended
})

test.if(existsSync('/dev/full'))(
  'a process whose disk is full says that of nothing it is on disk, and takes no new work',
  async () => {
    const log = createLog({ level: 'silent', format: 'json' }, { write: () => undefined })
    const directory = join(fixture.directory, 'full')
    mkdirSync(directory)
    symlinkSync('/dev/full', join(directory, 'one.journal'))
    const { journal, close } = await openSpill(directory, 'one', log)
    await expect(journal.append(settlement(1n))).rejects.toThrow('ENOSPC')
    expect([journal.healthy(), await journal.probe()]).toEqual([false, false])
    await close()
  },
)

/** A process that has a charge in its journal, and then misses one of its files. */
async function spillWithout(name: string) {
  const said: string[] = []
  const log = createLog({ level: 'info', format: 'json' }, { write: line => void said.push(line) })
  const directory = join(fixture.directory, `${name}-removed`)
  const spill = await openSpill(directory, 'one', log)
  const kept = settlement(1n)
  await spill.journal.append(kept)
  rmSync(join(directory, name))
  return { ...spill, directory, kept, said }
}

test('a process whose journal was removed says that of nothing it is on disk', async () => {
  const { journal, close } = await spillWithout('one.journal')
  await expect(journal.append(settlement(2n))).rejects.toThrow('one.journal')
  expect(await journal.probe()).toBe(false)
  await close()
})

test.each(['one-notes-1.journal', 'one-notes-2.journal'])(
  'a process whose %s was removed takes no new work until it is back, and its journal takes what is owed',
  async name => {
    const { journal, close, directory, kept, said } = await spillWithout(name)
    expect(await journal.probe()).toBe(false)
    const owed = settlement(2n)
    await journal.append(owed)
    expect(decodeRecords(readFileSync(join(directory, 'one.journal'))).items).toEqual([kept, owed])
    expect([journal.healthy(), await journal.probe()]).toEqual([false, false])
    expect(said).toEqual([expect.stringContaining(name)])
    writeFileSync(join(directory, name), '')
    expect([await journal.probe(), journal.healthy()]).toEqual([true, true])
    await close()
  },
)

test('a process whose directory is gone takes no new work until it is there again, and says which file it misses', async () => {
  const said: string[] = []
  const log = createLog({ level: 'error', format: 'json' }, { write: line => void said.push(line) })
  const directory = join(fixture.directory, 'unmounted')
  const ledger = await fixture.open({ journalDirectory: directory, log })
  renameSync(directory, `${directory}-elsewhere`)
  await ledger.beat()
  expect(ledger.state()).toMatchObject({ healthy: false, journal: 'full' })
  expect(said.join()).toMatch(/ENOENT.*unmounted.*new requests are refused/)
  renameSync(`${directory}-elsewhere`, directory)
  await ledger.beat()
  expect(ledger.state()).toMatchObject({ healthy: true, journal: 'empty' })
  await ledger.close()
})

/** Holds before the cut must have the time that a busy machine needs. */
const IMPATIENT = { settlePatienceMs: 50, holdPatienceMs: 2_000 }

/** Connections that were cut fail once more before they are opened anew. */
async function beatUntilWell(ledger: Ledger): Promise<void> {
  while (
    !(await ledger.beat().then(
      () => true,
      () => false,
    ))
  ) {
    // Each try costs one dead connection, of which there are four.
  }
  await ledger.beat()
}

/** The one in a directory that has something in it. */
function journalIn(directory: string): string {
  const found = readdirSync(directory)
    .filter(name => name.endsWith('.journal') && !name.includes('-notes-'))
    .map(name => join(directory, name))
    .find(path => readFileSync(path).length > 0)
  if (found === undefined) throw new Error('there is no journal')
  return found
}

/** A process that ended while the database was away, with three charges of 5 in its journal. */
async function leaveJournal() {
  const payer = await fixture.payer(100n)
  const ledger = await fixture.open({ timings: IMPATIENT })
  const requests = [holdOf(payer, 10n), holdOf(payer, 10n), holdOf(payer, 10n)]
  for (const request of requests) await ledger.hold(request)
  const restore = await cutOff(fixture.database)
  for (const request of requests) await ledger.settle(costOf(request, 5n))
  await ledger.close()
  await restore()
  return { payer, path: journalIn(fixture.directory) }
}

/** Damages the first record of a file; the result is what is in it then. */
function flipBit(path: string) {
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(20) ^ 4, 20)
  writeFileSync(path, bytes)
  return bytes
}

describe('without a database', () => {
  test('settlements go to disk and holds are refused; both heal when it is back', async () => {
    const payer = await fixture.payer(100n)
    const ledger = await fixture.open({ timings: IMPATIENT })
    const request = holdOf(payer, 10n)
    await ledger.hold(request)
    const restore = await cutOff(fixture.database)
    const refused = expect(ledger.hold(holdOf(payer, 20n))).rejects.toMatchObject({
      kind: 'billing_unavailable',
      retryAfterMs: 1000,
    })
    expect(await ledger.settle(costOf(request, 6n))).toMatchObject({ outcome: 'journaled' })
    await refused
    expect(ledger.state().journal).toBe('in use')
    await restore()
    await beatUntilWell(ledger)
    expect(await fixture.store.balance(payer.accountId)).toEqual({
      balanceNano: 94n,
      pendingNano: 0n,
      availableNano: 94n,
    })
    expect(ledger.state()).toMatchObject({ journal: 'empty', healthy: true })
  }, 60_000)

  test('a journal that was damaged is posted but for one charge, for which the audit asks, and serves the next time', async () => {
    const payer = await fixture.payer(100n)
    const directory = join(fixture.directory, 'damaged-in-service')
    const ledger = await fixture.open({ timings: IMPATIENT, journalDirectory: directory })
    const requests = [holdOf(payer, 10n), holdOf(payer, 10n), holdOf(payer, 10n)] as const
    const later = holdOf(payer, 10n)
    const away = async (settled: readonly HoldRequest[], damage: (journal: string) => void) => {
      const restore = await cutOff(fixture.database)
      for (const request of settled)
        expect(await ledger.settle(costOf(request, 5n))).toMatchObject({ outcome: 'journaled' })
      damage(journalIn(directory))
      await restore()
      await beatUntilWell(ledger)
    }
    for (const request of [...requests, later]) await ledger.hold(request)
    await away(requests, flipBit)
    // What is set aside for the damaged one is given back after a minute, through the journal where the database is slow.
    const { sql } = fixture.database
    await sql`update hold set opened_at = now() - interval '2 minutes' where account_id = ${payer.accountId}`
    await ledger.maintain()
    await beatUntilWell(ledger)
    const wallet = () => fixture.store.balance(payer.accountId)
    expect(await wallet()).toMatchObject({ balanceNano: 90n, pendingNano: 10n })
    expect(ledger.state()).toMatchObject({ journal: 'empty', healthy: true })

    await away([later], () => undefined)
    expect(await wallet()).toMatchObject({ balanceNano: 85n, pendingNano: 0n })
    expect(ledger.state()).toMatchObject({ journal: 'empty', healthy: true })
    expect(readdirSync(directory).filter(name => name.includes('.torn'))).toHaveLength(1)

    await sql`insert into exchange (id, account_id, key_id, surface, streamed, usage_source, cost_nano, cost_pico, status,
        end_state, started_at, total_ms, attempts)
      select made.id::uuid, ${payer.accountId}, ${payer.keyId}, 'chat', false, 'reported', 5, 5000, 200, 'complete',
        now() - interval '1 hour', 5, 1
      from unnest(${requests.map(({ id }) => id)}::text[]) made(id)`
    const made = await chargeLost(sql, '00000000-0000-0000-0000-000000000000')
    expect(made).toEqual([{ id: requests[0].id, accountId: payer.accountId, chargedNano: 5n }])
    await ledger.close()
  }, 60_000)

  test('a process that ends leaves its journal to the next one, a torn last record included', async () => {
    const { payer, path } = await leaveJournal()
    // The crash came while the third was being written; it was in no answer.
    const whole = readFileSync(path)
    truncateSync(path, whole.length - 3)
    const second = await fixture.open()
    expect((await fixture.store.balance(payer.accountId))?.balanceNano).toBe(90n)
    expect(readdirSync(fixture.directory)).toContain(`${path.split('/').at(-1)}.torn`)
    // The same again changes nothing.
    appendFileSync(path, whole)
    await second.maintain()
    expect((await fixture.store.balance(payer.accountId))?.balanceNano).toBe(85n)
  }, 60_000)

  test('a process that ends leaves a damaged journal: the next posts what can be read, keeps the file, and says how to charge the rest', async () => {
    const { payer, path } = await leaveJournal()
    const damaged = flipBit(path)
    writeFileSync(`${path}.torn`, 'earlier')
    const said: string[] = []
    const log = createLog({ level: 'error', format: 'json' }, { write: line => void said.push(line) })
    const second = await fixture.open({ log })
    await second.maintain()
    expect((await fixture.store.balance(payer.accountId))?.balanceNano).toBe(90n)
    expect(readFileSync(`${path}.torn`, 'utf8')).toBe('earlier')
    expect(readFileSync(`${path}.torn-2`)).toEqual(damaged)
    expect(said).toEqual([expect.stringMatching(/\.torn-2.*charge lost/)])
  }, 60_000)

  test('of a dead neighbour is posted by a process that runs, and only then what else it left is taken in', async () => {
    const payer = await fixture.payer(100n)
    const dead = await fixture.open({ timings: IMPATIENT })
    const request = holdOf(payer, 10n)
    await dead.hold(request)
    const balances: (bigint | undefined)[] = []
    let told = 0
    const neighbour = await fixture.open({
      async onAdopted() {
        told += 1
        if (told > 1) balances.push((await fixture.store.balance(payer.accountId))?.balanceNano)
      },
    })
    const restore = await cutOff(fixture.database)
    await dead.settle(costOf(request, 5n))
    await dead.close()
    await restore()
    await neighbour.maintain()
    expect([told, balances]).toEqual([2, [95n]])
  }, 60_000)

  test('of a process that was killed while it looked for room, nothing is left to wonder about', async () => {
    const path = join(fixture.directory, 'killed.journal')
    writeFileSync(path, new Uint8Array(4096))
    const ledger = await fixture.open()
    await ledger.maintain()
    const left = readdirSync(fixture.directory).filter(name => name.startsWith('killed.'))
    expect(left).toEqual([])
  }, 60_000)
})
