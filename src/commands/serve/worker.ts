import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { Environment } from '@/config/settings.ts'
import { Refusal } from '@/errors/refusal.ts'

/** The variable in which the supervisor tells a process that it is a worker. Not for operators. */
const VARIABLE = 'TOLLGATE_WORKER'

/** What a supervisor tells a worker when it starts it. */
export interface WorkerOrder {
  /** The API port that all workers share. 0: any free one, which the first worker finds. */
  port: number
}

/** What a registry holds, as it goes from a worker to its supervisor. */
export type MetricReading = MetricObjectWithValues<MetricValue<string>>

/** What a supervisor asks of its workers: whether they are there by itself, the rest whenever somebody asks it. */
export type WorkerQuestion = 'metrics' | 'readiness' | 'alive'

/** From the supervisor to a worker. */
export type SupervisorMessage = { type: 'stop' } | { type: 'ask'; id: number; question: WorkerQuestion }

/** From a worker to its supervisor. `reason` is why it is not ready for new work; null: it is. */
export type WorkerMessage =
  | { type: 'serving'; apiUrl: string }
  | { type: 'metrics'; id: number; metrics: MetricReading[] }
  | { type: 'readiness'; id: number; reason: string | null }
  | { type: 'alive'; id: number }

/** What a worker answers its supervisor with. */
interface WorkerAnswers {
  metrics(): Promise<MetricReading[]>
  unreadiness(): Promise<string | undefined>
}

/** The environment that makes a process a worker. */
export function workerEnvironment(order: WorkerOrder): Record<string, string> {
  return { [VARIABLE]: String(order.port) }
}

/** What this process was told by a supervisor; undefined if it has none. */
export function workerOrder(env: Environment): WorkerOrder | undefined {
  const text = env[VARIABLE]
  if (text === undefined) return undefined
  const port = Number(text)
  if (process.send === undefined || !Number.isInteger(port)) {
    throw new Refusal(`${VARIABLE} is set by the gateway for its own workers; leave it out`)
  }
  return { port }
}

/**
 * A worker's side of the line to its supervisor: from now on it says that it is there, whatever its start waits for.
 * Resolves with why the worker is to end: it was told to, or the supervisor is gone, without which nobody would start
 * this process again or tell it to stop.
 */
export function untilDismissed(): Promise<string> {
  return new Promise(resolve => {
    process.on('disconnect', () => resolve('the supervisor is gone'))
    process.on('message', (message: SupervisorMessage) => {
      if (message.type === 'stop') resolve('stop')
      else if (message.question === 'alive') send({ type: 'alive', id: message.id })
    })
  })
}

/** Tells the supervisor that this worker serves, and how it does whenever that asks. */
export function reportTo(apiUrl: string, answers: WorkerAnswers): void {
  process.on('message', (message: SupervisorMessage) => {
    if (message.type === 'ask') answer(message.id, message.question, answers).catch(() => undefined)
  })
  send({ type: 'serving', apiUrl })
}

async function answer(id: number, question: WorkerQuestion, answers: WorkerAnswers): Promise<void> {
  if (question === 'metrics') send({ type: 'metrics', id, metrics: await answers.metrics() })
  if (question === 'readiness') send({ type: 'readiness', id, reason: (await answers.unreadiness()) ?? null })
}

function send(message: WorkerMessage): void {
  if (process.connected) process.send?.(message)
}
