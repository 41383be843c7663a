import { parseObject } from '@/json/json.ts'

interface Admitted {
  /** Slots got of `limit` at once, none of them given back. */
  slots: number
  /** Requests got of `limit` per minute. */
  rate: number
  /** What time added to the limit while they asked. */
  refilled: number
}

/** Several processes that ask for all they can get of one limit on one Redis. */
export async function askFromProcesses(
  url: string,
  namespace: string,
  { processes, takes, limit }: { processes: number; takes: number; limit: number },
): Promise<Admitted> {
  const start = performance.now()
  const outputs = await Promise.all(
    Array.from({ length: processes }, () => runTaker([url, namespace, String(takes), String(limit)])),
  )
  const refilled = (limit * (performance.now() - start)) / 60_000
  const sum = (pick: (one: { slots: number; rate: number }) => number) =>
    outputs.reduce((total, output) => total + pick(output), 0)
  return { slots: sum(one => one.slots), rate: sum(one => one.rate), refilled }
}

async function runTaker(args: readonly string[]): Promise<{ slots: number; rate: number }> {
  const script = new URL('./taker.ts', import.meta.url).pathname
  const child = Bun.spawn([process.execPath, script, ...args], { stdout: 'pipe', stderr: 'inherit' })
  const output = parseObject(await new Response(child.stdout).text())
  return { slots: Number(output?.['slots']), rate: Number(output?.['rate']) }
}
