import { GatewayError } from '@/errors/gateway-error.ts'
import type { Codec } from '@/formats/codec.ts'
import { respelled } from '@/formats/invalid.ts'
import { spelledIn } from '@/formats/spelling.ts'
import type { Loss } from '@/generation/loss.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * Does what lowers a request of this caller, and has it complain in the caller's words.
 * @throws GatewayError as `lower` does
 */
export function inCallersWords<T>(caller: Codec, wire: JsonObject, lower: () => T): T {
  try {
    return lower()
  } catch (error) {
    throw respelled(error, field => spelledIn(wire, caller.fieldNames[field]))
  }
}

/** The names go into a header, a log line and a row, and unknown fields may be called anything: together they stay below 4 KB. */
const MAX_LOSSES = 40
const MAX_NAME_LENGTH = 100

/** Losses in the words of the caller's own request, each once, in a stable order; of very many, the first and their number. */
export function nameLosses(losses: readonly Loss[], caller: Codec, wire: JsonObject): string[] {
  const names = losses.map(({ field, name }) => {
    if (field === 'extension') return name ?? 'unknown'
    // A hosted tool can be a field of its own (Chat's web_search_options).
    if (name !== undefined && Object.hasOwn(wire, name.split('.')[0] ?? name)) return name
    const spelled = spelledIn(wire, caller.fieldNames[field])
    return name === undefined ? spelled : `${spelled}.${name}`
  })
  return bounded(names)
}

/** What of the answer the reply could not say, beside the losses of the request. */
export function withAnswerLosses(
  losses: readonly string[],
  ofAnswer: ReadonlySet<string> | undefined,
): readonly string[] {
  if (ofAnswer === undefined || ofAnswer.size === 0) return losses
  return [...losses, ...bounded([...ofAnswer].map(name => `answer.${name}`))]
}

/** Names of losses, each once, in a stable order; of very many, the first and their number. */
export function bounded(names: readonly string[]): string[] {
  const sorted = [...new Set(names.map(shortened))].sort()
  const more = sorted.length - MAX_LOSSES
  return more <= 0 ? sorted : [...sorted.slice(0, MAX_LOSSES), `and ${more} more`]
}

function shortened(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, MAX_NAME_LENGTH - 3)}...`
}

/**
 * Holds a request to strict mode, in which a loss is a 400.
 * @throws GatewayError `unsupported_parameter` naming the losses
 */
export function refuseLosses(names: readonly string[]): void {
  if (names.length === 0) return
  throw new GatewayError(
    'unsupported_parameter',
    `The model's upstream cannot be told: ${names.join(', ')}. Leave these out, or leave out x-tollgate-strict`,
    { param: names[0] },
  )
}
