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

  user(text: string, { image, pdf }: { image?: string; pdf?: string } = {}): void {
    const parts: Part[] = [{ text }]
    if (image !== undefined) parts.push(imagePart(image))
    if (pdf !== undefined) parts.push({ inlineData: { mimeType: 'application/pdf', data: pdf } })
    this.#contents.push({ role: 'user', parts })
  }

  system(): void {
    throw new Error('Gemini has system text at the head only')
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
    const parts = partsOf(chunks, 0)
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
    ...(schema === undefined ? {} : { responseMimeType: 'application/json' }),
    ...(schema === undefined || schema === 'any' ? {} : { responseJsonSchema: schema }),
    ...(wishes.candidates === undefined ? {} : { candidateCount: wishes.candidates }),
    ...(wishes.logprobs === true ? { responseLogprobs: true } : {}),
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
    others: otherTexts(chunks),
    logprobs: chunks
      .flatMap(chunk => chunk.candidates?.[0]?.logprobsResult?.chosenCandidates ?? [])
      .map(({ token = '', logProbability = Number.NaN }) => ({ token, logprob: logProbability })),
    total: usage?.totalTokenCount,
  }
}

/** The parts of one candidate, told by its index, which the first need not have. */
function partsOf(chunks: readonly GenerateContentResponse[], index: number): Part[] {
  return chunks
    .flatMap(chunk => chunk.candidates ?? [])
    .filter(candidate => (candidate.index ?? 0) === index)
    .flatMap(candidate => candidate.content?.parts ?? [])
}

function otherTexts(chunks: readonly GenerateContentResponse[]): string[] {
  const indexes = chunks.flatMap(chunk => chunk.candidates ?? []).map(candidate => candidate.index ?? 0)
  return Array.from({ length: Math.max(0, ...indexes) }, (_, index) =>
    partsOf(chunks, index + 1)
      .map(part => part.text ?? '')
      .join(''),
  )
}
