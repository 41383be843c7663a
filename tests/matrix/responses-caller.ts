import OpenAI from 'openai'
import type {
  Response,
  ResponseCreateParams,
  ResponseInputContent,
  ResponseInputItem,
} from 'openai/resources/responses/responses'
import type { JsonObject } from '@/json/json.ts'
import { readOpenaiFailure } from './chat-caller.ts'
import type { Answer, Call, Caller, Mode, Talk, ToolOutcome, ToolSpec, Wishes } from './talk.ts'

export function responsesCaller(address: { url: string; key: string }): Caller {
  const client = new OpenAI({ apiKey: address.key, baseURL: `${address.url}/v1`, maxRetries: 0 })
  return { side: 'responses', talk: () => new ResponsesTalk(client, []), failure: readFailure }
}

/** A failed response is an answer to the SDK; to us it is the error that its stream told of. */
class FailedResponse extends Error {}

function readFailure(error: unknown) {
  if (error instanceof FailedResponse)
    return { status: undefined, message: error.message, name: 'FailedResponse' }
  return readOpenaiFailure(error)
}

class ResponsesTalk implements Talk {
  readonly #client: OpenAI
  readonly #input: ResponseInputItem[]

  constructor(client: OpenAI, input: ResponseInputItem[]) {
    this.#client = client
    this.#input = input
  }

  copy(): Talk {
    return new ResponsesTalk(this.#client, [...this.#input])
  }

  user(text: string, { image, pdf }: { image?: string; pdf?: string } = {}): void {
    const content: ResponseInputContent[] = [{ type: 'input_text', text }]
    if (image !== undefined)
      content.push({ type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${image}` })
    if (pdf !== undefined)
      content.push({
        type: 'input_file',
        filename: 'bill.pdf',
        file_data: `data:application/pdf;base64,${pdf}`,
      })
    this.#input.push({ role: 'user', content })
  }

  system(text: string): void {
    this.#input.push({ role: 'developer', content: text })
  }

  assistant(text: string): void {
    this.#input.push({ role: 'assistant', content: text })
  }

  results(outcomes: readonly ToolOutcome[]): void {
    for (const { call, text, image } of outcomes) {
      const output =
        image === undefined
          ? text
          : [
              { type: 'input_text' as const, text },
              { type: 'input_image' as const, image_url: `data:image/png;base64,${image}` },
            ]
      this.#input.push(
        call.free === true
          ? { type: 'custom_tool_call_output', call_id: call.id, output: text }
          : { type: 'function_call_output', call_id: call.id, output },
      )
    }
  }

  async ask(model: string, mode: Mode, wishes: Wishes = {}): Promise<Answer> {
    const params = this.#params(model, wishes)
    const response =
      mode === 'whole'
        ? await this.#client.responses.create({ ...params, stream: false })
        : await this.#client.responses.stream({ ...params, stream: true }).finalResponse()
    if (response.status === 'failed') throw new FailedResponse(response.error?.message)
    this.#input.push(...response.output.map(asInput))
    return readResponse(response)
  }

  #params(model: string, wishes: Wishes): ResponseCreateParams {
    const { system, tools, choice, schema } = wishes
    const marked: ResponseInputItem[] =
      system === undefined || wishes.cacheSystem !== true
        ? []
        : [
            {
              role: 'developer',
              content: [{ type: 'input_text', text: system, prompt_cache_breakpoint: { mode: 'explicit' } }],
            },
          ]
    return {
      model,
      store: false,
      input: [...marked, ...this.#input],
      ...(system === undefined || marked.length > 0 ? {} : { instructions: system }),
      ...(tools === undefined ? {} : { tools: tools.map(toolParam) }),
      ...(choice === undefined
        ? {}
        : {
            tool_choice:
              typeof choice === 'string' ? choice : { type: 'function' as const, name: choice.tool },
          }),
      ...(wishes.parallel === undefined ? {} : { parallel_tool_calls: wishes.parallel }),
      ...(schema === undefined ? {} : { text: { format: textFormat(schema) } }),
      ...(wishes.logprobs === true ? { include: ['message.output_text.logprobs'] } : {}),
      ...(wishes.maxTokens === undefined ? {} : { max_output_tokens: wishes.maxTokens }),
      ...(wishes.thinks === true
        ? {
            reasoning: { effort: 'medium' as const, summary: 'auto' as const },
            include: ['reasoning.encrypted_content' as const],
          }
        : {}),
    }
  }
}

function toolParam({ free, name, description, parameters }: ToolSpec) {
  return free === true
    ? { type: 'custom' as const, name, description }
    : { type: 'function' as const, strict: false, name, description, parameters }
}

function textFormat(schema: JsonObject | 'any') {
  return schema === 'any'
    ? { type: 'json_object' as const }
    : { type: 'json_schema' as const, name: 'answer', schema, strict: true }
}

/** Output items go back as they came, which is how the vendor says to do it; the SDK has two types for them. */
function asInput(item: Response['output'][number]): ResponseInputItem {
  return item as ResponseInputItem
}

function callOf(item: Response['output'][number]): Call[] {
  if (item.type === 'function_call')
    return [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) }]
  if (item.type === 'custom_tool_call')
    return [{ id: item.call_id, name: item.name, input: item.input, free: true }]
  return []
}

function readResponse(response: Response): Answer {
  const contents = response.output.flatMap(item => (item.type === 'message' ? item.content : []))
  const usage = response.usage
  return {
    id: response.id,
    model: response.model,
    text: contents.map(part => (part.type === 'output_text' ? part.text : '')).join(''),
    reasoning: response.output
      .flatMap(item => (item.type === 'reasoning' ? item.summary : []))
      .map(part => part.text)
      .join('\n\n'),
    refusal: contents.map(part => (part.type === 'refusal' ? part.refusal : '')).join(''),
    calls: response.output.flatMap(callOf),
    images: response.output.flatMap(item =>
      item.type === 'image_generation_call' && item.result !== null ? [item.result] : [],
    ),
    finish:
      response.status === 'incomplete'
        ? `incomplete: ${response.incomplete_details?.reason}`
        : (response.status ?? ''),
    tokens: {
      input: usage?.input_tokens ?? Number.NaN,
      cached: usage?.input_tokens_details.cached_tokens ?? 0,
      output: usage?.output_tokens ?? Number.NaN,
      reasoning: usage?.output_tokens_details.reasoning_tokens ?? 0,
    },
    others: [],
    logprobs: contents.flatMap(part => (part.type === 'output_text' ? (part.logprobs ?? []) : [])),
    total: usage?.total_tokens,
  }
}
