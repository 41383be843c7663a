import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
} from '@google/genai'
import type { Answer, Caller, Mode, Talk, ToolOutcome, Wishes } from './talk.ts'

export function geminiCaller(address: { url: string; key: string }): Caller {
  const client = new GoogleGenAI({ apiKey: address.key, httpOptions: { baseUrl: address.url } })
  return { side: 'gemini', talk: () => new GeminiTalk(client, []), failure: readFailure }
}

/** The SDK wraps an error of the first answer; one inside a stream breaks the connection after its text. */
function readFailure(error: unknown) {
  if (error instanceof ApiError) return { status: error.status, message: error.message, name: 'ApiError' }
  if (error instanceof Error) return { status: undefined, message: error.message, name: error.name }
  throw error
}

class GeminiTalk implements Talk {
  readonly #client: GoogleGenAI
  readonly #contents: Content[]

  constructor(client: GoogleGenAI, contents: Content[]) {
    this.#client = client
    this.#contents = contents
  }

  copy(): Talk {
    return new GeminiTalk(this.#client, [...this.#contents])
  }

  user(text: string, image?: string): void {
    const parts: Part[] = [{ text }]
    if (image !== undefined) parts.push(imagePart(image))
    this.#contents.push({ role: 'user', parts })
  }

  assistant(text: string): void {
    this.#contents.push({ role: 'model', parts: [{ text }] })
  }

  results(outcomes: readonly ToolOutcome[]): void {
    this.#contents.push({
      role: 'user',
      parts: outcomes.map(({ call, text, image, isError }) => ({
        functionResponse: {
          ...(call.id === '' ? {} : { id: call.id }),
          name: call.name,
          response: isError === true ? { error: text } : { result: text },
          ...(image === undefined ? {} : { parts: [imagePart(image)] }),
        },
      })),
    })
  }

  async ask(model: string, mode: Mode, wishes: Wishes = {}): Promise<Answer> {
    const params = { model, contents: [...this.#contents], config: configOf(wishes) }
    const chunks: GenerateContentResponse[] = []
    if (mode === 'whole') chunks.push(await this.#client.models.generateContent(params))
    else for await (const chunk of await this.#client.models.generateContentStream(params)) chunks.push(chunk)
    const parts = chunks.flatMap(chunk => chunk.candidates?.[0]?.content?.parts ?? [])
    this.#contents.push({ role: 'model', parts })
    return readChunks(chunks, parts)
  }
}

function imagePart(data: string): Part {
  return { inlineData: { mimeType: 'image/png', data } }
}

function configOf(wishes: Wishes): GenerateContentConfig {
  const { system, tools, choice, schema, stop } = wishes
  return {
    ...(system === undefined ? {} : { systemInstruction: system }),
    ...(tools === undefined
      ? {}
      : {
          tools: [
            {
              functionDeclarations: tools.map(({ name, description, parameters }) => ({
                name,
                description,
                parametersJsonSchema: parameters,
              })),
            },
          ],
        }),
    ...(choice === undefined ? {} : { toolConfig: { functionCallingConfig: callingConfig(choice) } }),
    ...(schema === undefined ? {} : { responseMimeType: 'application/json', responseJsonSchema: schema }),
    ...(wishes.maxTokens === undefined ? {} : { maxOutputTokens: wishes.maxTokens }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(wishes.thinks === true ? { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } } : {}),
  }
}

function callingConfig(choice: NonNullable<Wishes['choice']>) {
  if (typeof choice !== 'string')
    return { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: [choice.tool] }
  const modes = {
    auto: FunctionCallingConfigMode.AUTO,
    none: FunctionCallingConfigMode.NONE,
    required: FunctionCallingConfigMode.ANY,
  }
  return { mode: modes[choice] }
}

function readChunks(chunks: readonly GenerateContentResponse[], parts: readonly Part[]): Answer {
  const texts = (thought: boolean) =>
    parts
      .filter(part => (part.thought ?? false) === thought)
      .map(part => part.text ?? '')
      .join('')
  const usage = chunks.findLast(chunk => chunk.usageMetadata !== undefined)?.usageMetadata
  const finish = chunks.findLast(chunk => chunk.candidates?.[0]?.finishReason !== undefined)
  return {
    id: chunks[0]?.responseId ?? '',
    model: chunks[0]?.modelVersion ?? '',
    text: texts(false),
    reasoning: texts(true),
    refusal: '',
    calls: parts.flatMap(({ functionCall }) =>
      functionCall === undefined
        ? []
        : [{ id: functionCall.id ?? '', name: functionCall.name ?? '', input: functionCall.args ?? {} }],
    ),
    images: parts.flatMap(({ inlineData }) => inlineData?.data ?? []),
    finish: finish?.candidates?.[0]?.finishReason ?? '',
    tokens: {
      input: (usage?.promptTokenCount ?? Number.NaN) + (usage?.toolUsePromptTokenCount ?? 0),
      cached: usage?.cachedContentTokenCount ?? 0,
      output: (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0),
      reasoning: usage?.thoughtsTokenCount ?? 0,
    },
    total: usage?.totalTokenCount,
  }
}
