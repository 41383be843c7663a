import Anthropic from '@anthropic-ai/sdk'
import type {
  ContentBlockParam,
  Message,
  MessageCreateParamsBase,
  MessageParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { Answer, Caller, Mode, Talk, ToolOutcome, ToolSpec, Wishes } from './talk.ts'

export function messagesCaller(address: { url: string; key: string }): Caller {
  const client = new Anthropic({ apiKey: address.key, baseURL: address.url, maxRetries: 0 })
  return { side: 'messages', talk: () => new MessagesTalk(client, []), failure: readFailure }
}

function readFailure(error: unknown) {
  if (!(error instanceof Anthropic.APIError)) throw error
  return { status: error.status, message: error.message, name: error.constructor.name }
}

class MessagesTalk implements Talk {
  readonly #client: Anthropic
  readonly #messages: MessageParam[]

  constructor(client: Anthropic, messages: MessageParam[]) {
    this.#client = client
    this.#messages = messages
  }

  copy(): Talk {
    return new MessagesTalk(this.#client, [...this.#messages])
  }

  user(text: string, { image, pdf }: { image?: string; pdf?: string } = {}): void {
    const content: ContentBlockParam[] = [{ type: 'text', text }]
    if (image !== undefined) content.push(imageBlock(image))
    if (pdf !== undefined) {
      const source = { type: 'base64', media_type: 'application/pdf', data: pdf } as const
      content.push({ type: 'document', source })
    }
    this.#messages.push({ role: 'user', content })
  }

  system(text: string): void {
    this.#messages.push({ role: 'system', content: text })
  }

  assistant(text: string): void {
    this.#messages.push({ role: 'assistant', content: text })
  }

  results(outcomes: readonly ToolOutcome[]): void {
    this.#messages.push({
      role: 'user',
      content: outcomes.map(({ call, text, image, isError }) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: [{ type: 'text', text }, ...(image === undefined ? [] : [imageBlock(image)])],
        ...(isError === undefined ? {} : { is_error: isError }),
      })),
    })
  }

  async ask(model: string, mode: Mode, wishes: Wishes = {}): Promise<Answer> {
    const params = this.#params(model, wishes)
    const message =
      mode === 'whole'
        ? await this.#client.messages.create({ ...params, stream: false })
        : await this.#client.messages.stream(params).finalMessage()
    this.#messages.push({ role: 'assistant', content: message.content })
    return readMessage(message)
  }

  #params(model: string, wishes: Wishes): MessageCreateParamsBase {
    const { system, tools, stop } = wishes
    const schema = wishes.schema === 'any' ? undefined : wishes.schema
    const mark = wishes.cacheSystem === true ? { cache_control: { type: 'ephemeral' } as const } : {}
    const choice = toolChoice(wishes)
    return {
      model,
      max_tokens: wishes.maxTokens ?? 4096,
      messages: [...this.#messages],
      ...(system === undefined ? {} : { system: [{ type: 'text', text: system, ...mark }] }),
      ...(tools === undefined ? {} : { tools: tools.map(toolParam) }),
      ...(choice === undefined ? {} : { tool_choice: choice }),
      ...(schema === undefined ? {} : { output_config: { format: { type: 'json_schema', schema } } }),
      ...(stop === undefined ? {} : { stop_sequences: [...stop] }),
      ...(wishes.thinks === true ? { thinking: { type: 'enabled', budget_tokens: 2048 } } : {}),
    }
  }
}

function imageBlock(data: string) {
  return {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data },
  } as const
}

function toolParam({ name, description, parameters }: ToolSpec) {
  return { name, description, input_schema: { ...parameters, type: 'object' as const } }
}

function toolChoice({ choice, parallel }: Wishes) {
  const one = parallel === false ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined) return parallel === false ? ({ type: 'auto', ...one } as const) : undefined
  if (typeof choice !== 'string') return { type: 'tool', name: choice.tool, ...one } as const
  if (choice === 'none') return { type: 'none' } as const
  return { type: choice === 'required' ? 'any' : 'auto', ...one } as const
}

function readMessage(message: Message): Answer {
  const { usage } = message
  const cached = usage.cache_read_input_tokens ?? 0
  return {
    id: message.id,
    model: message.model,
    text: message.content.map(block => (block.type === 'text' ? block.text : '')).join(''),
    reasoning: message.content
      .flatMap(block => (block.type === 'thinking' && block.thinking !== '' ? [block.thinking] : []))
      .join('\n\n'),
    refusal: '',
    calls: message.content.flatMap(block =>
      block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [],
    ),
    images: [],
    finish: message.stop_reason ?? '',
    tokens: {
      input: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
      cached,
      output: usage.output_tokens,
      reasoning: usage.output_tokens_details?.thinking_tokens ?? 0,
    },
    others: [],
    logprobs: [],
    total: undefined,
  }
}
