/** What the simulation's callers call. */
export const SURFACES = ['chat', 'responses', 'messages', 'gemini', 'embeddings', 'images', 'videos'] as const
export type Surface = (typeof SURFACES)[number]
type Conversation = Exclude<Surface, 'embeddings' | 'images' | 'videos'>

/** Tokens of each prompt, as the upstream reports them. */
export const PROMPT_TOKENS = 10
/** How long each film is that is ordered, in seconds. */
export const FILM_SECONDS = 4
/** One token, as the gateway counts and the upstream reports: four bytes. */
const TOKEN = 'abc '

/** How one format is written: each answer is a head, deltas and an end, or it comes whole. */
export interface Wire {
  head: string
  delta(text: string): string
  /** `usage` undefined: the upstream tells none. */
  end(text: string, usage: number | undefined, isCut: boolean): string
  error: string
  whole(text: string, usage: number | undefined, isCut: boolean): object
  /** In what a caller got of a stream. */
  terminal: RegExp
}

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const named = (value: { type: string; [name: string]: unknown }) => `event: ${value.type}\n${data(value)}`
const FAILURE = { message: 'the simulation says so', type: 'server_error', code: 'server_error' }

const chunk = (choices: object[], usage?: object) =>
  data({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...(usage && { usage }) })
const chatUsage = (tokens: number | undefined) =>
  tokens === undefined
    ? undefined
    : { prompt_tokens: PROMPT_TOKENS, completion_tokens: tokens, total_tokens: PROMPT_TOKENS + tokens }
const chatReason = (isCut: boolean) => (isCut ? 'length' : 'stop')

const chat: Wire = {
  head: chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
  delta: text => chunk([{ index: 0, delta: { content: text }, finish_reason: null }]),
  end: (_, usage, isCut) =>
    chunk([{ index: 0, delta: {}, finish_reason: chatReason(isCut) }]) +
    (usage === undefined ? '' : chunk([], chatUsage(usage))) +
    'data: [DONE]\n\n',
  error: data({ error: FAILURE }),
  whole: (content, usage, isCut) => ({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: chatReason(isCut) }],
    usage: chatUsage(usage),
  }),
  terminal: /data: \[DONE\]/,
}

function responseObject(status: string, text: string, usage: number | undefined) {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status,
    output:
      status === 'in_progress' ? [] : [{ type: 'message', id: 'msg_1', role: 'assistant', status, content }],
    ...(status === 'incomplete' && { incomplete_details: { reason: 'max_output_tokens' } }),
    ...(usage !== undefined && {
      usage: { input_tokens: PROMPT_TOKENS, output_tokens: usage, total_tokens: PROMPT_TOKENS + usage },
    }),
  }
}

const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const message = { type: 'message', id: 'msg_1', role: 'assistant' }
const responseStatus = (isCut: boolean) => (isCut ? 'incomplete' : 'completed')

const responses: Wire = {
  head:
    named({ type: 'response.created', response: responseObject('in_progress', '', undefined) }) +
    named({
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...message, status: 'in_progress', content: [] },
    }) +
    named({
      type: 'response.content_part.added',
      ...at,
      part: { type: 'output_text', text: '', annotations: [] },
    }),
  delta: delta => named({ type: 'response.output_text.delta', ...at, delta }),
  end(text, usage, isCut) {
    const status = responseStatus(isCut)
    const part = { type: 'output_text', text, annotations: [] }
    return (
      named({ type: 'response.output_text.done', ...at, text }) +
      named({ type: 'response.content_part.done', ...at, part }) +
      named({
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...message, status, content: [part] },
      }) +
      named({ type: `response.${status}`, response: responseObject(status, text, usage) })
    )
  },
  error: named({ ...FAILURE, type: 'error' }),
  whole: (text, usage, isCut) => responseObject(responseStatus(isCut), text, usage),
  terminal: /"type":\s*"response\.(completed|incomplete)"/,
}

const stopReason = (isCut: boolean) => (isCut ? 'max_tokens' : 'end_turn')
const claude = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }
const messagesUsage = (tokens: number) => ({ input_tokens: PROMPT_TOKENS, output_tokens: tokens })

const messages: Wire = {
  head:
    named({
      type: 'message_start',
      message: { ...claude, content: [], stop_reason: null, stop_sequence: null, usage: messagesUsage(0) },
    }) + named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  delta: text => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  end: (_, usage, isCut) =>
    named({ type: 'content_block_stop', index: 0 }) +
    named({
      type: 'message_delta',
      delta: { stop_reason: stopReason(isCut), stop_sequence: null },
      ...(usage !== undefined && { usage: { output_tokens: usage } }),
    }) +
    named({ type: 'message_stop' }),
  error: named({ type: 'error', error: { type: 'api_error', message: FAILURE.message } }),
  whole: (text, usage, isCut) => ({
    ...claude,
    content: [{ type: 'text', text }],
    stop_reason: stopReason(isCut),
    stop_sequence: null,
    ...(usage !== undefined && { usage: messagesUsage(usage) }),
  }),
  terminal: /"type":\s*"message_stop"/,
}

function gemini(text: string, finishReason?: string, usage?: number) {
  const usageMetadata = usage !== undefined && {
    promptTokenCount: PROMPT_TOKENS,
    candidatesTokenCount: usage,
    totalTokenCount: PROMPT_TOKENS + usage,
  }
  return {
    candidates: [
      { index: 0, content: { role: 'model', parts: [{ text }] }, ...(finishReason && { finishReason }) },
    ],
    ...(usageMetadata && { usageMetadata }),
    modelVersion: 'm',
    responseId: 'r',
  }
}

const finishOf = (isCut: boolean) => (isCut ? 'MAX_TOKENS' : 'STOP')

const generate: Wire = {
  head: '',
  delta: text => data(gemini(text)),
  end: (_, usage, isCut) => data(gemini('', finishOf(isCut), usage)),
  error: data({ error: { code: 500, message: FAILURE.message, status: 'INTERNAL' } }),
  whole: (text, usage, isCut) => gemini(text, finishOf(isCut), usage),
  terminal: /"finishReason":/,
}

export const WIRES: Record<Conversation, Wire> = { chat, responses, messages, gemini: generate }

export function isConversation(surface: Surface): surface is Conversation {
  return surface in WIRES
}

export function textOf(tokens: number): string {
  return TOKEN.repeat(tokens)
}

/** Tokens of the answer in JSON that has it once. */
export function tokensOf(text: string): number {
  return text.split(TOKEN).length - 1
}

/** Tokens of the answer in what came of a stream, or in a part of it that ends where an event does; `response.*.done` repeats them. */
export function tokensIn(text: string): number {
  let tokens = 0
  for (const line of text.split('\n')) {
    if (line.startsWith('data:') && !/"type":\s*"response\.(?!output_text\.delta)/.test(line)) {
      tokens += tokensOf(line)
    }
  }
  return tokens
}

/** The request of a caller: where it goes and its body. */
export function requestOf(
  surface: Surface,
  model: string,
  prompt: string,
  { streamed, background, most }: { streamed: boolean; background: boolean; most: number | undefined },
): { path: string; body: object } {
  const user = [{ role: 'user', content: prompt }]
  switch (surface) {
    case 'chat':
      return {
        path: '/v1/chat/completions',
        body: { model, messages: user, stream: streamed, ...(most && { max_completion_tokens: most }) },
      }
    case 'responses':
      return {
        path: '/v1/responses',
        body: {
          model,
          input: prompt,
          store: background,
          background,
          stream: streamed,
          ...(most && { max_output_tokens: most }),
        },
      }
    case 'messages':
      return {
        path: '/v1/messages',
        body: { model, messages: user, stream: streamed, max_tokens: most ?? 4096 },
      }
    case 'gemini':
      return {
        path: `/v1beta/models/${model}:${streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
        body: {
          contents: [{ role: 'user', parts: [{ text: prompt }] }],
          ...(most && { generationConfig: { maxOutputTokens: most } }),
        },
      }
    case 'embeddings':
      return { path: '/v1/embeddings', body: { model: 'embed', input: prompt } }
    case 'images':
      return { path: '/v1/images/generations', body: { model: 'picture', prompt } }
    case 'videos':
      return { path: '/v1/videos', body: { model: 'film', prompt, seconds: String(FILM_SECONDS) } }
  }
}
