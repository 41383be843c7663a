import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { TARGETS as NEWER, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Target } from '@/formats/codec.ts'
import { nameLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { bodyOf, type Said, type Variable, variablesOf } from './saying.ts'
import { REQUESTS } from './vendor-requests.ts'

/** Models that are told otherwise what those of the transcripts are told. */
const OTHERS: Record<Format, Target> = {
  'openai-chat-completions': { model: 'llama-4', vendor: 'api.groq.com', maxOutputTokens: undefined },
  'openai-responses': { model: 'gpt-4.1', vendor: 'openai', maxOutputTokens: undefined },
  'anthropic-messages': { model: 'kimi-k2', vendor: 'moonshot.ai', maxOutputTokens: undefined },
  'gemini-generate-content': { model: 'gemini-3-pro-preview', vendor: 'google', maxOutputTokens: undefined },
}

/** What another format need not be told: nobody can tell from an answer whether it was. */
const NEEDS_NO_WORD: readonly RegExp[] = [
  // The gateway does it itself, or it is about the caller's own answer.
  /^stop$|^stop_sequences$|stopSequences$/,
  /^thinking\.enabled\.display$|includeThoughts$|^reasoning\.exclude$|^usage\.include$/,
  // Tools are there at once, and their input streams anyway.
  /defer_loading$|eager_input_streaming$/,
  // Both are the operator's words.
  /^messages\.role$/,
  // A label.
  /json_schema\.name$/,
  // Where a schema is not held to, that is a loss; elsewhere it always is.
  /json_schema\.strict$/,
  // What a vendor's records say of an item.
  /^input\.\w+\.id$|^input\.(message|\w*call|(function|custom_tool)_call_output)\.status$/,
  /^input\.message\.phase$/,
  // The type of what is at an address is told by whoever serves it.
  /fileData\.mimeType$/,
  // How a call's answer was cut; the call says it too.
  /^input\.shell_call_output\.max_output_length$/,
  // The words go on without their seal.
  /^messages\.content\.thinking\.signature$/,
]

/** Losses of more than the field that they are named after. */
const ALSO_MEANS: Readonly<Record<string, string>> = {
  'contents.parts.thoughtSignature': 'contents.parts.text',
  'generationConfig.responseLogprobs': 'generationConfig.logprobs',
  'reasoning.encrypted_content': 'input.reasoning',
  'messages.content.thinking': 'messages.content.redacted_thinking',
  'messages.content': 'messages.images',
  logprobs: 'top_logprobs',
  top_logprobs: 'include',
  thinking: 'output_config.effort',
  reasoning_effort: 'thinking',
}

/** What models that always think are told as nearly as they can be, which is not what was said. */
const NOT_TO_THINK = 'disabled'

/** What is lost of a request that does not say it: who speaks of functions has room for one call. */
const UNSAID: readonly string[] = ['functions']

/** What an upstream is sent for a request, and what of it the caller is told is lost. */
interface Outcome {
  sent: string
  losses: readonly string[]
}

/** Undefined where the request is refused, which is no silence. */
function convert(from: Format, target: [Format, Target], body: JsonObject): Outcome | undefined {
  const [to, model] = target
  try {
    const request = CODECS[from].decodeRequest(body, { model: 'm', stream: false })
    const lowered = lowerRequest(request, CODECS[to], model, USUAL_HABITS)
    return {
      sent: JSON.stringify([lowered.body, lowered.headers]),
      losses: nameLosses(lowered.losses, CODECS[from], body),
    }
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

/** Losses that nobody is told of, and those told of that did not happen. */
interface Misreported {
  silent: readonly string[]
  untrue: readonly string[]
}

function misreported(from: Format, target: [Format, Target], said: Said): Misreported {
  const silent: string[] = []
  const outcome = convert(from, target, bodyOf(said))
  if (outcome === undefined) return { silent, untrue: [] }
  const unseen: Variable[] = []
  for (const variable of variablesOf(said)) {
    const others = variable.otherwise.map(body => convert(from, target, body))
    const isSeen = others.some(other => other?.sent !== outcome.sent)
    if (!isSeen || variable.value === NOT_TO_THINK) unseen.push(variable)
    if (isSeen) continue
    // Where another value would be a loss, this one says what the upstream does anyway.
    const isUsual = others.some(other => !Bun.deepEquals(other?.losses, outcome.losses))
    if (!isNamed(variable, outcome.losses) && !saysNothing(variable) && (variable.isAround || !isUsual))
      silent.push(variable.path.join('.'))
  }
  return {
    silent,
    untrue: outcome.losses.filter(
      name => !UNSAID.includes(name) && !unseen.some(variable => isNamed(variable, [name])),
    ),
  }
}

function isRight({ silent, untrue }: Misreported): boolean {
  return silent.length + untrue.length === 0
}

function saysNothing({ path, value, isAround }: Variable): boolean {
  const isEmpty = isAround || (JSON.stringify(value) === '{}' && path[0] !== 'tools')
  return isEmpty || NEEDS_NO_WORD.some(pattern => pattern.test(path.join('.')))
}

/** Whether a loss speaks of a variable, of what it is in, or of something in it. */
function isNamed({ path }: Variable, losses: readonly string[]): boolean {
  const names = losses.flatMap(name => [name, ALSO_MEANS[name] ?? name])
  return names.some(name => leadsTo(name.split('.'), path) || name.startsWith(`${path.join('.')}.`))
}

/** A name leaves out the types on the way, but for those of tools. */
function leadsTo(name: readonly string[], path: readonly string[]): boolean {
  let at = 0
  for (const segment of path) if (segment === name[at]) at += 1
  return at === name.length
}

describe('of whatever a caller says, each thing reaches the upstream or is named as a loss, and no other is', () => {
  for (const from of FORMATS) {
    for (const to of FORMATS.filter(format => format !== from)) {
      test.each(REQUESTS[from].map((request, index) => [index, request] as const))(
        `${from} to ${to}, request %i`,
        (_, request) => {
          for (const models of [NEWER, OTHERS]) {
            const judge = (said: Said) => misreported(from, [to, models[to]], said)
            const isTrue = fc.property(request, said => isRight(judge(said)))
            const { counterexample } = fc.check(isTrue, {
              numRuns: 12,
              seed: 1,
            })
            if (counterexample === null) continue
            const [said] = counterexample
            expect({ ...judge(said), of: bodyOf(said) }).toEqual({ silent: [], untrue: [], of: bodyOf(said) })
          }
        },
      )
    }
  }
})
