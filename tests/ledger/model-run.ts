import fc from 'fast-check'
import { connect, type Database } from '@/db/connect.ts'
import { reap } from '@/ledger/reaper.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { compare, ledgerCommands } from './model.ts'
import { enter, worldStock } from './model-world.ts'

interface ModelRun {
  sequences: number
  /** On average: a sequence has from none to twice as many. */
  commandsPerSequence: number
  /** Repeats a run; undefined: a new one each time, which fast-check prints if it fails. */
  seed?: number
  /** How many sequences run at a time. */
  pools?: number
  /** No sequence begins after this long, and no smaller one that fails is looked for; undefined: as long as it takes. */
  limitMs?: number
  /** Told after each sequence. */
  onSequence?(done: ModelTally): void
}

/** What was run. */
interface ModelTally {
  sequences: number
  commands: number
}

/** More keep no second core busier; each waits for the answer to its command. */
const LANES = 6

/**
 * Runs random commands on models and on a ledger, and tells how many that were; throws with the shortest sequence on
 * which they differ. Sequences run side by side on one database, each on accounts of its own; what they share is what
 * real processes share: the reaper, and the tables.
 */
export async function runModel(url: string, run: ModelRun): Promise<ModelTally> {
  const pools = Math.min(run.pools ?? LANES, run.sequences)
  const database = await openLazily(url, pools)
  const done: ModelTally = { sequences: 0, commands: 0 }
  const tell = (commands: number) => {
    done.sequences += 1
    done.commands += commands
    run.onSequence?.(done)
  }
  try {
    await Promise.all(
      Array.from({ length: pools }, (_, pool) => {
        const sequences = Math.floor(run.sequences / pools) + (pool < run.sequences % pools ? 1 : 0)
        const seed = run.seed === undefined ? {} : { seed: run.seed + pool }
        return runLane(database, { ...run, sequences, ...seed }, tell)
      }),
    )
    await settleLeftovers(database)
    return done
  } finally {
    await database.close()
  }
}

/** What a crash of the database would lose is not asked here, so no command waits for the disk. */
async function openLazily(url: string, connections: number): Promise<Database> {
  const first = connect(url, { max: 1 })
  await first.sql.unsafe(`alter database "${new URL(url).pathname.slice(1)}" set synchronous_commit = off`)
  await first.close()
  return connect(url, { max: connections })
}

async function runLane(database: Database, run: ModelRun, tell: (commands: number) => void): Promise<void> {
  const stock = worldStock(database)
  await fc.assert(
    fc.asyncProperty(ledgerCommands(2 * run.commandsPerSequence), async commands => {
      const setup = await enter(database, await stock.take())
      await fc.asyncModelRun(() => setup, commands)
      await compare(setup.model, setup.real)
      await leave(database, setup.real.owners)
      tell(setup.real.steps)
    }),
    {
      numRuns: run.sequences,
      endOnFailure: false,
      ...(run.seed === undefined ? {} : { seed: run.seed }),
      ...(run.limitMs === undefined ? {} : { interruptAfterTimeLimit: run.limitMs }),
    },
  )
}

/** The processes of a sequence that is over are dead: what it left open is anybody's to settle. */
async function leave({ sql }: Database, owners: readonly string[]): Promise<void> {
  await sql`update process set seen = '-infinity' where id = any (${[...owners]}::uuid[])`
}

async function settleLeftovers(database: Database): Promise<void> {
  await reap(ledgerStore(database), 3_600_000)
}
