import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { costOf, holdOf, ledgerFixture, newId } from '#tests/ledger/fixture.ts'
import { audit } from '@/ledger/audit.ts'
import { decodeTexts, encodeRecords, readSettlement } from '@/ledger/spill/journal.ts'
import { openNotes } from '@/ledger/spill/notes.ts'
import type { Settlement } from '@/ledger/types.ts'

const directory = mkdtempSync(join(tmpdir(), 'tollgate-notes-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const settlement = (costNano: bigint): Settlement => costOf({ id: newId(), accountId: 1, keyId: 2 }, costNano)

function openPair(name: string) {
  const paths = [join(directory, `${name}-1`), join(directory, `${name}-2`)] as const
  return { paths, notes: openNotes(paths, encodeRecords) }
}

const read = (path: string) => decodeTexts(readFileSync(path), readSettlement).items

describe('notes', () => {
  test('are in the file when the turn of the event loop is over', async () => {
    const { paths, notes } = openPair('turn')
    const two = [settlement(1n), settlement(2n)]
    for (const one of two) notes.add(one)
    await Promise.resolve()
    expect(read(paths[0])).toEqual(two)
    notes.close()
  })

  test('stay while one of them is needed, and go when none is', async () => {
    const { paths, notes } = openPair('needed')
    const [one, other] = [settlement(1n), settlement(2n)]
    notes.add(one)
    notes.add(other)
    await Promise.resolve()
    notes.done(one.id)
    notes.tidy()
    expect(read(paths[0])).toEqual([one, other])
    notes.done(other.id)
    notes.tidy()
    expect(statSync(paths[0]).size).toBe(0)
    const next = settlement(3n)
    notes.add(next)
    await Promise.resolve()
    expect(readFileSync(paths[0])).toEqual(Buffer.from(encodeRecords([next])))
    notes.done(next.id)
    notes.close()
    expect(paths.map(path => existsSync(path))).toEqual([false, false])
  })

  test('are left to the next process where one of them is still needed at the end', async () => {
    const { paths, notes } = openPair('left')
    const [taken, left] = [settlement(1n), settlement(2n)]
    notes.add(taken)
    notes.add(left)
    await Promise.resolve()
    notes.done(taken.id)
    notes.close()
    expect(read(paths[0])).toEqual([taken, left])
    expect(existsSync(paths[1])).toBe(false)
  })

  test('of many exchanges take no more room than the open ones need', async () => {
    const { paths, notes } = openPair('many')
    const first = settlement(1n)
    notes.add(first)
    for (let n = 0; n < 20_000; n += 1) {
      const one = settlement(BigInt(n))
      notes.add(one)
      await Promise.resolve()
      notes.done(one.id)
      if (n === 15_000) notes.done(first.id)
      if (n === 10_000) expect(read(paths[0])[0]).toEqual(first)
    }
    expect(statSync(paths[0]).size + statSync(paths[1]).size).toBeLessThan(600 * 1024)
    notes.close()
  })

  test.each(['alone', 'among others'])(
    'of one exchange (%s) stand behind one another, also when the other file is in use by now',
    async what => {
      const { paths, notes } = openPair(`twice ${what}`)
      const first = settlement(1n)
      notes.add(first)
      const others = Array.from({ length: 3_000 }, () => settlement(1n))
      for (const one of others) notes.add(one)
      await Promise.resolve()
      if (what === 'alone') for (const { id } of others) notes.done(id)
      const [later, fresh] = [costOf(first, 2n), settlement(3n)]
      notes.add(fresh)
      notes.add(later)
      await Promise.resolve()
      expect([read(paths[0]).at(0), read(paths[0]).at(-1), read(paths[1])]).toEqual([first, later, [fresh]])
      notes.close()
    },
  )

  test('of which a full disk took a part leave nothing behind that would count as later', async () => {
    const paths = ['part-1', 'part-2'].map(name => join(directory, name))
    const [first, second] = [newId(), newId()]
    const script = new URL('./out-of-room.ts', import.meta.url).pathname
    // A file that is as large as it may be is to whoever writes it what a full disk is. The unit is 512 bytes or 1024.
    const limited = `trap '' XFSZ; ulimit -f 1; exec "$@"`
    const child = Bun.spawn(['sh', '-c', limited, 'sh', process.execPath, script, ...paths, first, second], {
      stdout: 'ignore',
      stderr: 'pipe',
    })
    expect([await new Response(child.stderr).text(), await child.exited]).toEqual(['', 0])
    expect(read(paths[0] ?? '')).toEqual([costOf({ id: second, accountId: 1, keyId: 2 }, 4n)])
  })

  test("after the end are nobody else's bytes", async () => {
    const { notes } = openPair('closed')
    const last = settlement(1n)
    notes.add(last)
    await Promise.resolve()
    notes.done(last.id)
    notes.close()
    const path = join(directory, 'bystander')
    const bystander = Bun.file(path).writer()
    bystander.write('mine')
    await bystander.flush()
    notes.add(settlement(1n))
    notes.tidy()
    notes.close()
    await Promise.resolve()
    expect(readFileSync(path, 'utf8')).toBe('mine')
    await bystander.end()
  })
})

describe('a process that was killed', () => {
  test('has its answers charged in full by the next one, by the last that was known of each', async () => {
    const fixture = await ledgerFixture()
    try {
      const payer = await fixture.payer(1_000n)
      const requests = Array.from({ length: 3 }, () => holdOf(payer, 100n))
      const [noted, refined, reaped] = requests
      if (noted === undefined || refined === undefined || reaped === undefined) throw new Error('three')
      const ledger = await fixture.open()
      for (const request of requests) await ledger.hold(request)
      ledger.note(costOf(noted, 70n))
      ledger.note(costOf(refined, 10n))
      ledger.note(costOf(refined, 80n))
      ledger.note(costOf(reaped, 90n))
      await Promise.resolve()
      // What kill -9 leaves: the files, without whoever had them locked. Another process saw the death first.
      const left = join(fixture.directory, 'next')
      await copyNotes(fixture.directory, left)
      const store = fixture.database.sql
      await store`update hold set progress = 40, deadline = '-infinity' where id = ${reaped.id}`
      await store`select ledger_reap(${600_000}, 10)`
      await fixture.open({ journalDirectory: left })
      expect(await fixture.store.balance(payer.accountId)).toMatchObject({
        balanceNano: 1_000n - 70n - 80n - 90n,
        pendingNano: 0n,
      })
      expect(
        readdirSync(left).filter(name => !name.includes('.lock') && statSync(join(left, name)).size > 0),
      ).toEqual([])
      expect((await audit(fixture.database.url)).ok).toBe(true)
    } finally {
      await fixture.close()
    }
  })

  test('leaves nothing to charge of what it gave back', async () => {
    const fixture = await ledgerFixture()
    try {
      const payer = await fixture.payer(1_000n)
      const request = holdOf(payer, 100n)
      const ledger = await fixture.open()
      await ledger.hold(request)
      ledger.note(costOf(request, 70n))
      const left = join(fixture.directory, 'next')
      const released = ledger.release(request)
      await Promise.resolve()
      await copyNotes(fixture.directory, left)
      await released
      await fixture.open({ journalDirectory: left })
      expect((await fixture.store.balance(payer.accountId))?.balanceNano).toBe(1_000n)
    } finally {
      await fixture.close()
    }
  })
})

async function copyNotes(from: string, to: string): Promise<void> {
  for (const name of readdirSync(from)) {
    if (name.includes('-notes-') && name.endsWith('.journal')) {
      await Bun.write(join(to, name), Bun.file(join(from, name)))
    }
  }
}
