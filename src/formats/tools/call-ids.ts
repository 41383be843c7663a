import type { DecodeContext, NameRule } from '@/formats/codec.ts'
import type { Turn } from '@/generation/request.ts'

/** What Anthropic and OpenAI's Responses accept; of Anthropic's the length is ours. */
const WORD: NameRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }

/**
 * A tool call's id as a target accepts it: unchanged where it fits, else a safe prefix and a hash of the whole.
 * Depends on the id alone, so that call and result agree, and every turn writes the same bytes.
 */
export function fitCallId(id: string, rule = WORD): string {
  if (id.length > 0 && id.length <= rule.maxLength && rule.pattern.test(id)) return id
  const hash = new Bun.CryptoHasher('sha256').update(id).digest('hex').slice(0, 24)
  return `call_${hash}`
}

/**
 * The ids of an answer's calls, by which their results are told apart: a call whose id is missing, or another's, gets one
 * of ours. Some models count their calls anew in every answer, and clients tell calls of all turns apart by their ids alone.
 */
export class CallIds {
  readonly #context: Pick<DecodeContext, 'newId' | 'takenIds'>
  /** Made for the first call: most answers have none. */
  #taken: Set<string> | undefined

  constructor(context: Pick<DecodeContext, 'newId' | 'takenIds'>) {
    this.#context = context
  }

  /** The id of a call that begins. */
  take(said: string | undefined): string {
    const { newId, takenIds } = this.#context
    this.#taken ??= new Set(takenIds)
    const id = said === undefined || isTaken(said, this.#taken) ? newId() : said
    this.#taken.add(id)
    return id
  }
}

/** The conversation may have it as callers of Messages are told it. */
function isTaken(id: string, taken: ReadonlySet<string>): boolean {
  return taken.has(id) || taken.has(fitCallId(id))
}

/** The ids of a conversation's calls; undefined: it has none. */
export function takenCallIds(turns: readonly Turn[]): readonly string[] | undefined {
  const ids = turns.flatMap(({ parts }) =>
    parts.flatMap(part => (part.type === 'tool-call' ? part.callId : [])),
  )
  return ids.length === 0 ? undefined : ids
}

/**
 * Ids each of which is taken once in a conversation, as most vendors want it: some models count their calls anew in every
 * answer (`call_0`). Which one an id becomes depends on those before it alone.
 */
export class DistinctIds {
  readonly #fit: (id: string) => string
  readonly #taken = new Set<string>()
  /** The number to try next for another of an id. */
  readonly #next = new Map<string, number>()

  /** @param fit an id as the target takes it */
  constructor(fit: (id: string) => string) {
    this.#fit = fit
  }

  /** The id to use for this one. */
  take(own: string): string {
    let id = this.#fit(own)
    while (this.#taken.has(id)) {
      const count = this.#next.get(own) ?? 2
      this.#next.set(own, count + 1)
      id = this.#fit(`${own}_${count}`)
    }
    this.#taken.add(id)
    return id
  }
}
