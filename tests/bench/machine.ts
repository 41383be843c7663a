import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A process under test and the processes below it. */
interface ProcessTree {
  own: readonly number[]
  /** Databases among them: their work counts apart. */
  stores: readonly number[]
}

const STORE = /^(postgres|redis-server|valkey-server)/

/** What runs under a process now. */
export function processTree(root: number): ProcessTree {
  const all = below(root)
  return { own: all.filter(pid => !isStore(pid)), stores: all.filter(isStore) }
}

function isStore(pid: number): boolean {
  return STORE.test(readProc(pid, 'comm'))
}

/** The process itself and everything that it started. */
function below(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const pid of processIds()) {
    const parent = Number(statFields(pid)[1])
    children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  const found: number[] = []
  const waiting = [root]
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    found.push(pid)
    waiting.push(...(children.get(pid) ?? []))
  }
  return found
}

/** The length of a clock tick of /proc, in µs, at Linux's usual 100 a second. */
const TICK_US = 10_000

/** User and system time that the processes used so far, all threads, in µs. */
export function cpuUs(pids: readonly number[]): number {
  let ticks = 0
  for (const pid of pids) {
    const fields = statFields(pid)
    ticks += Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
  }
  return ticks * TICK_US
}

/** User and system time of a process so far, in µs, by the names of its threads; the first of them is `main`. */
export function threadCpuUs(pid: number): Map<string, number> {
  const found = new Map<string, number>()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const name = thread === String(pid) ? 'main' : readProc(pid, `task/${thread}/comm`).trim()
    const ranNs = Number(readProc(pid, `task/${thread}/schedstat`).split(' ')[0])
    found.set(name, (found.get(name) ?? 0) + ranNs / 1000)
  }
  return found
}

/** Memory of the processes in MB; what several of them share counts once. */
export function memoryMb(pids: readonly number[]): number {
  let kilobytes = 0
  for (const pid of pids) kilobytes += Number(/^Pss:\s+(\d+)/m.exec(readProc(pid, 'smaps_rollup'))?.[1] ?? 0)
  return kilobytes / 1024
}

/** Open descriptors of the processes. */
export function descriptors(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    try {
      return sum + readdirSync(`/proc/${pid}/fd`).length
    } catch {
      return sum
    }
  }, 0)
}

/** The process that listens on a loopback port, if it runs on this machine and may be looked at. */
export function listenerOf(port: number): number | undefined {
  const socket = listeningSocket(port)
  if (socket === undefined) return undefined
  return processIds().find(pid => holds(pid, `socket:[${socket}]`))
}

function listeningSocket(port: number): string | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    if (!existsSync(table)) continue
    for (const line of readFileSync(table, 'utf8').split('\n')) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
      if (state === '0A' && local.endsWith(suffix)) return inode
    }
  }
  return undefined
}

function holds(pid: number, target: string): boolean {
  try {
    const directory = `/proc/${pid}/fd`
    return readdirSync(directory).some(fd => readlinkSync(`${directory}/${fd}`) === target)
  } catch {
    return false
  }
}

function processIds(): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
}

/** The fields of `stat` behind the name, which may hold anything. */
function statFields(pid: number): string[] {
  const stat = readProc(pid, 'stat')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Empty when the process is gone by now. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
