import OpenAI from 'openai'
import type {
  ChatCompletion,
  ChatCompletionContentPart,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import type { JsonObject } from '@/json/json.ts'
import type { Answer, Caller, Mode, Talk, ToolOutcome, ToolSpec, Wishes } from './talk.ts'

/** Fields that OpenAI's own types lack and that compatible vendors share. */
interface Extras {
  reasoning_content?: string
  reasoning_details?: unknown[]
  images?: { image_url: { url: string } }[]
}

export function chatCaller(address: { url: string; key: string }): Caller {
  const client = new OpenAI({ apiKey: address.key, baseURL: `${address.url}/v1`, maxRetries: 0 })
  return {
    side: 'chat',
    talk: () => new ChatTalk(client, []),
    failure: readOpenaiFailure,
  }
}

/** An error of OpenAI's SDK. */
export function readOpenaiFailure(error: unknown) {
  if (!(error instanceof OpenAI.APIError)) throw error
  return { status: error.status, message: error.message, name: error.constructor.name }
}

class ChatTalk implements Talk {
  readonly #client: OpenAI
  readonly #messages: ChatCompletionMessageParam[]

  constructor(client: OpenAI, messages: ChatCompletionMessageParam[]) {
    this.#client = client
    this.#messages = messages
  }

  copy(): Talk {
    return new ChatTalk(this.#client, [...this.#messages])
  }

  user(text: string, { image, pdf }: { image?: string; pdf?: string } = {}): void {
    const parts: ChatCompletionContentPart[] = [{ type: 'text', text }]
    if (image !== undefined)
      parts.push({ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } })
    if (pdf !== undefined) {
      const file = { filename: 'bill.pdf', file_data: `data:application/pdf;base64,${pdf}` }
      parts.push({ type: 'file', file })
    }
    this.#messages.push({ role: 'user', content: parts.length === 1 ? text : parts })
  }

  system(text: string): void {
    this.#messages.push({ role: 'system', content: text })
  }

  assistant(text: string): void {
    this.#messages.push({ role: 'assistant', content: text })
  }

  results(outcomes: readonly ToolOutcome[]): void {
    for (const { call, text } of outcomes) {
      this.#messages.push({ role: 'tool', tool_call_id: call.id, content: text })
    }
  }

  async ask(model: string, mode: Mode, wishes: Wishes = {}): Promise<Answer> {
    const params = this.#params(model, wishes)
    const { completion, extras } = mode === 'whole' ? await this.#whole(params) : await this.#streamed(params)
    const message = completion.choices[0]?.message
    if (message === undefined) throw new Error('the answer has no choice')
    this.#messages.push(asHistory({ ...message, ...extras }))
    return readCompletion(completion, extras)
  }

  async #whole(params: ChatCompletionCreateParams) {
    const completion = await this.#client.chat.completions.create({ ...params, stream: false })
    return { completion, extras: extrasOf(completion.choices[0]?.message ?? {}) }
  }

  async #streamed(params: ChatCompletionCreateParams) {
    const stream = this.#client.chat.completions.stream({
      ...params,
      stream: true,
      stream_options: { include_usage: true },
    })
    const extras: Extras = {}
    stream.on('chunk', chunk => addExtras(extras, extrasOf(chunk.choices[0]?.delta ?? {})))
    return { completion: await stream.finalChatCompletion(), extras }
  }

  #params(model: string, wishes: Wishes): ChatCompletionCreateParams {
    const { system, tools, choice, schema, stop } = wishes
    const mark = wishes.cacheSystem === true ? { prompt_cache_breakpoint: { mode: 'explicit' } as const } : {}
    return {
      model,
      messages: [
        ...(system === undefined
          ? []
          : [{ role: 'system' as const, content: [{ type: 'text' as const, text: system, ...mark }] }]),
        ...this.#messages,
      ],
      ...(tools === undefined ? {} : { tools: tools.map(toolParam) }),
      ...(choice === undefined ? {} : { tool_choice: toolChoice(choice) }),
      ...(wishes.parallel === undefined ? {} : { parallel_tool_calls: wishes.parallel }),
      ...(schema === undefined ? {} : { response_format: responseFormat(schema) }),
      ...(wishes.candidates === undefined ? {} : { n: wishes.candidates }),
      ...(wishes.logprobs === true ? { logprobs: true } : {}),
      ...(wishes.maxTokens === undefined ? {} : { max_completion_tokens: wishes.maxTokens }),
      ...(stop === undefined ? {} : { stop: [...stop] }),
      ...(wishes.thinks === true ? { reasoning_effort: 'medium' as const } : {}),
    }
  }
}

function toolParam({ free, name, description, parameters }: ToolSpec) {
  return free === true
    ? { type: 'custom' as const, custom: { name, description } }
    : { type: 'function' as const, function: { name, description, parameters } }
}

function responseFormat(schema: JsonObject | 'any') {
  return schema === 'any'
    ? { type: 'json_object' as const }
    : { type: 'json_schema' as const, json_schema: { name: 'answer', schema, strict: true } }
}

function toolChoice(choice: NonNullable<Wishes['choice']>) {
  return typeof choice === 'string' ? choice : { type: 'function' as const, function: { name: choice.tool } }
}

/** The SDK hands unknown fields of a message through at run time; its types do not know them. */
function extrasOf(message: object): Extras {
  return message as Extras
}

/** A message that the SDK returned is a message that it takes, extras included: callers send back what they got. */
function asHistory(message: object): ChatCompletionMessageParam {
  return message as ChatCompletionMessageParam
}

/** The SDK's accumulator overwrites unknown fields; callers who want them add them up from the chunks. */
function addExtras(sum: Extras, delta: Extras): void {
  if (delta.reasoning_content !== undefined)
    sum.reasoning_content = (sum.reasoning_content ?? '') + delta.reasoning_content
  if (delta.reasoning_details !== undefined)
    sum.reasoning_details = [...(sum.reasoning_details ?? []), ...delta.reasoning_details]
  if (delta.images !== undefined) sum.images = [...(sum.images ?? []), ...delta.images]
}

function readCompletion(completion: ChatCompletion, extras: Extras): Answer {
  const choice = completion.choices[0]
  const usage = completion.usage
  return {
    id: completion.id,
    model: completion.model,
    text: choice?.message.content ?? '',
    reasoning: extras.reasoning_content ?? '',
    refusal: choice?.message.refusal ?? '',
    calls: (choice?.message.tool_calls ?? []).map(call =>
      call.type === 'function'
        ? { id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) }
        : { id: call.id, name: call.custom.name, input: call.custom.input, free: true },
    ),
    images: (extras.images ?? []).map(({ image_url }) =>
      image_url.url.replace(/^data:image\/png;base64,/, ''),
    ),
    finish: choice?.finish_reason ?? '',
    tokens: {
      input: usage?.prompt_tokens ?? Number.NaN,
      cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
      output: usage?.completion_tokens ?? Number.NaN,
      reasoning: usage?.completion_tokens_details?.reasoning_tokens ?? 0,
    },
    others: completion.choices.slice(1).map(other => other.message.content ?? ''),
    logprobs: choice?.logprobs?.content ?? [],
    total: usage?.total_tokens,
  }
}
