import { costOf } from '#tests/ledger/fixture.ts'
import { encodeRecords } from '@/ledger/spill/journal.ts'
import { openNotes } from '@/ledger/spill/notes.ts'

/**
 * A process whose files may hold a little more than two records: it notes two costs and many more in one write, which ends
 * in the midst of them, then of the second another cost, and ends without a word.
 */
const [path = '', otherPath = '', first = '', second = ''] = process.argv.slice(2)

const notes = openNotes([path, otherPath], encodeRecords)
const cost = (id: string, nano: bigint) => costOf({ id, accountId: 1, keyId: 2 }, nano)
notes.add(cost(first, 1n))
notes.add(cost(second, 2n))
for (let n = 0; n < 100; n += 1) notes.add(cost(Bun.randomUUIDv7(), 3n))
await Promise.resolve()
notes.add(cost(second, 4n))
await Promise.resolve()
process.exit(0)
