import { systemClock } from '@/clock/clock.ts'
import { openLedger } from '@/ledger/ledger.ts'
import type { ExtendRequest, HoldRequest, Settlement } from '@/ledger/types.ts'
import { createLog } from '@/telemetry/log.ts'

/** What a ledger in another process can be asked for. */
export type LedgerOrder =
  | { act: 'hold'; item: HoldRequest }
  | { act: 'extend'; item: ExtendRequest }
  | { act: 'settle'; item: Settlement }
  | { act: 'release'; item: Settlement }

/** A ledger in a process of its own. */
export interface LedgerProcess {
  /** Carries out all at once; resolves with how many failed. */
  order(orders: readonly LedgerOrder[]): Promise<number>
  close(): Promise<void>
}

export async function startLedgerProcess(databaseUrl: string): Promise<LedgerProcess> {
  let answer: (failed: number) => void = () => undefined
  const ready = Promise.withResolvers<void>()
  const child = Bun.spawn([process.execPath, import.meta.path, databaseUrl], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc(message: unknown) {
      if (message === 'ready') ready.resolve()
      else if (typeof message === 'number') answer(message)
    },
  })
  await ready.promise
  return {
    order: orders =>
      new Promise(resolve => {
        answer = resolve
        child.send(orders)
      }),
    async close() {
      child.kill()
      await child.exited
    },
  }
}

async function serve(databaseUrl: string): Promise<void> {
  const ledger = await openLedger({
    databaseUrl,
    journalDirectory: undefined,
    address: 'process',
    clock: systemClock,
    log: createLog({ level: 'warn', format: 'json' }),
  })
  const carryOut = ({ act, item }: LedgerOrder): Promise<unknown> => {
    switch (act) {
      case 'hold':
        return ledger.hold(item)
      case 'extend':
        return ledger.extend(item)
      case 'settle':
        return ledger.settle(item)
      case 'release':
        return ledger.release(item)
    }
  }
  process.on('message', async (orders: readonly LedgerOrder[]) => {
    const results = await Promise.allSettled(orders.map(carryOut))
    process.send?.(results.filter(({ status }) => status === 'rejected').length)
  })
  process.send?.('ready')
}

if (import.meta.main) await serve(process.argv[2] ?? '')
