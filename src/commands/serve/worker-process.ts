import type { Clock } from '@/clock/clock.ts'
import { within } from '@/clock/wait.ts'
import { Refusal } from '@/errors/refusal.ts'
import {
  type SupervisorMessage,
  type WorkerMessage,
  type WorkerOrder,
  type WorkerQuestion,
  workerEnvironment,
} from './worker.ts'

/** A worker as its supervisor sees it. */
export interface WorkerProcess {
  pid: number
  /**
   * The address at which it serves, once it does.
   * @throws Refusal when it ends before; it has said why on stderr
   */
  serving: Promise<string>
  exited: Promise<number>
  /** Its line is closed, which it does last of all. */
  hungUp: Promise<void>
  /** Undefined: it did not answer in time, or could not be asked. */
  ask(question: WorkerQuestion, withinMs: number, clock: Clock): Promise<WorkerMessage | undefined>
  send(message: SupervisorMessage): void
  /** At once, whatever it was doing. */
  kill(): void
}

/** Starts this program once more, as a worker. Its output goes where ours goes. */
export function startWorker(order: WorkerOrder): WorkerProcess {
  const serving = Promise.withResolvers<string>()
  const hungUp = Promise.withResolvers<void>()
  const waiting = new Map<number, (answer: WorkerMessage | undefined) => void>()
  let questions = 0
  const [, script = ''] = process.argv
  const child = Bun.spawn([process.execPath, ...process.execArgv, script, 'serve'], {
    env: { ...process.env, ...workerEnvironment(order) },
    stdio: ['ignore', 'inherit', 'inherit'],
    serialization: 'json',
    ipc(message: WorkerMessage) {
      if (message.type === 'serving') serving.resolve(message.apiUrl)
      else waiting.get(message.id)?.(message)
    },
    onDisconnect: () => hungUp.resolve(),
  })
  const send = (message: SupervisorMessage) => {
    if (child.exitCode !== null || child.killed) return
    try {
      child.send(message)
    } catch {
      // Its line is closed: it hears nothing any more, and answers nothing.
    }
  }
  // Whoever waits for it may have given up by then.
  serving.promise.catch(() => undefined)
  child.exited.then(code => {
    serving.reject(new Refusal(`a worker ended with code ${code} before it served`))
    for (const resolve of waiting.values()) resolve(undefined)
  })
  return {
    pid: child.pid,
    serving: serving.promise,
    exited: child.exited,
    hungUp: hungUp.promise,
    send,
    kill: () => child.kill('SIGKILL'),
    async ask(question, withinMs, clock) {
      const id = questions++
      const answer = Promise.withResolvers<WorkerMessage | undefined>()
      waiting.set(id, answer.resolve)
      try {
        send({ type: 'ask', id, question })
        return await within(withinMs, answer.promise, clock)
      } finally {
        waiting.delete(id)
      }
    },
  }
}
