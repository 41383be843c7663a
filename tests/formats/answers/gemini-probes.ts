import type { JsonObject, JsonValue } from '@/json/json.ts'
import type { Probe } from './probe.ts'

function chunk(candidate: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    candidates: [candidate],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 },
    modelVersion: 'zz',
    responseId: 'ré',
    ...more,
  }
}

/** The answer in one piece, and as chunks that hold a little text or another part each. */
function both(
  name: string,
  parts: JsonObject[],
  finishReason: JsonValue = 'STOP',
  candidate: JsonObject = {},
  more: JsonObject = {},
): Probe {
  const pieces = parts.flatMap(part => {
    const { text } = part
    if (typeof text !== 'string' || text === '' || part['thoughtSignature'] !== undefined) return [part]
    return (text.match(/[\s\S]{1,3}/gu) ?? []).map(piece => ({ ...part, text: piece }))
  })
  return {
    name,
    whole: chunk({ content: { role: 'model', parts }, index: 0, finishReason, ...candidate }, more),
    stream: [
      ...pieces.map(piece => chunk({ content: { role: 'model', parts: [piece] } })),
      chunk({ content: { role: 'model', parts: [] }, finishReason, ...candidate }, more),
    ],
  }
}

export const GEMINI: readonly Probe[] = [
  both('grounding with supports', [{ text: 'Grüße aus Wien' }], 'STOP', {
    groundingMetadata: {
      webSearchQueries: ['q'],
      searchEntryPoint: { renderedContent: '<b>' },
      groundingChunks: [
        { web: { uri: 'https://a', title: 'A' } },
        { retrievedContext: { uri: 'gs://b', title: 'B', text: 't' } },
        { maps: { uri: 'https://maps', title: 'M', placeId: 'p' } },
        { image: { sourceUri: 'https://i', imageUri: 'https://i/x.png', title: 'I' } },
      ],
      groundingSupports: [
        { segment: { startIndex: 0, endIndex: 7, text: 'Grüße' }, groundingChunkIndices: [0, 1] },
        {
          segment: { startIndex: 8, endIndex: 11, text: 'aus' },
          groundingChunkIndices: [2, 3],
          confidenceScores: [0.5],
        },
      ],
    },
  }),
  both('grounding without supports', [{ text: 'Grüße' }], 'STOP', {
    groundingMetadata: {
      groundingChunks: [{ web: { uri: 'https://a', title: 'A' } }, { web: { uri: 'https://b', title: 'B' } }],
    },
  }),
  both('citation metadata', [{ text: 'Grüße' }], 'STOP', {
    citationMetadata: {
      citations: [{ startIndex: 0, endIndex: 6, uri: 'https://c', title: 'C', license: 'MIT' }],
    },
  }),
  both('citation metadata v1beta', [{ text: 'Grüße' }], 'STOP', {
    citationMetadata: { citationSources: [{ startIndex: 0, endIndex: 6, uri: 'https://c', license: 'MIT' }] },
  }),
  both('citation without uri', [{ text: 'Grüße' }], 'STOP', {
    citationMetadata: { citations: [{ startIndex: 0, endIndex: 6, title: 'Faust', license: 'PD' }] },
  }),
  both('url context', [{ text: 'x' }], 'STOP', {
    urlContextMetadata: {
      urlMetadata: [{ retrievedUrl: 'https://u', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' }],
    },
  }),
  both('safety ratings', [{ text: 'x' }], 'SAFETY', {
    safetyRatings: [{ category: 'HARM_CATEGORY_HATE_SPEECH', probability: 'HIGH', blocked: true }],
    finishMessage: 'unsafe',
  }),
  both('code', [
    { executableCode: { language: 'PYTHON', code: 'print(1)' } },
    { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
    { text: 'eins' },
  ]),
  both('media out', [
    { text: 'look' },
    { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
    { inlineData: { mimeType: 'audio/L16;rate=24000', data: 'UklGRgAA' } },
    { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } },
    { fileData: { mimeType: 'image/png', fileUri: 'https://x.example/p.png' } },
    { fileData: { mimeType: 'application/pdf', fileUri: 'gs://b/x.pdf' } },
  ]),
  both('thought image', [
    { thought: true, inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
    { text: 'x' },
  ]),
  both('signature on text', [
    { text: 'a', thought: true },
    { text: 'hello', thoughtSignature: 'UzE=' },
    { text: ' more' },
  ]),
  both('signature on empty', [{ text: 'hello' }, { text: '', thoughtSignature: 'UzE=' }]),
  both('calls same name no id', [
    { functionCall: { name: 'f', args: { ä: 1 } }, thoughtSignature: 'UzE=' },
    { functionCall: { name: 'f' } },
    { functionCall: { name: 'g', args: {}, id: 'own' } },
  ]),
  both('text around call', [
    { text: 'before' },
    { functionCall: { name: 'f', args: {} } },
    { text: 'after' },
  ]),
  both('logprobs', [{ text: 'ab' }], 'STOP', {
    avgLogprobs: -0.2,
    logprobsResult: {
      logProbabilitySum: -1,
      chosenCandidates: [
        { token: 'a', tokenId: 1, logProbability: -0.1 },
        { token: 'b', tokenId: 2, logProbability: -0.3 },
      ],
      topCandidates: [
        { candidates: [{ token: 'a', logProbability: -0.1 }] },
        { candidates: [{ token: 'b', logProbability: -0.3 }] },
      ],
    },
  }),
  both('language', [{ text: 'x' }], 'LANGUAGE'),
  both('malformed', [], 'MALFORMED_FUNCTION_CALL', { finishMessage: 'Malformed function call: print(f())' }),
  both('other', [{ text: 'x' }], 'OTHER', { finishMessage: 'why' }),
  both('unknown reason', [{ text: 'x' }], 'BORED'),
  both('numeric reason', [{ text: 'x' }], 2),
  both('max in thoughts', [{ text: 'thinking', thought: true }], 'MAX_TOKENS'),
  both('max nothing', [], 'MAX_TOKENS'),
  {
    name: 'blocked',
    whole: {
      promptFeedback: { blockReason: 'BLOCKLIST', blockReasonMessage: 'word', safetyRatings: [] },
      usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 },
    },
    stream: [
      {
        promptFeedback: { blockReason: 'BLOCKLIST', blockReasonMessage: 'word', safetyRatings: [] },
        usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 },
      },
    ],
  },
  {
    name: 'two candidates',
    whole: {
      ...chunk({}),
      candidates: [
        { index: 0, content: { parts: [{ text: 'A' }] }, finishReason: 'STOP' },
        {
          index: 1,
          content: { parts: [{ text: 'B' }, { functionCall: { name: 'f', args: {} } }] },
          finishReason: 'STOP',
        },
      ],
    },
    stream: [
      {
        ...chunk({}),
        candidates: [
          { index: 0, content: { parts: [{ text: 'A' }] } },
          { index: 1, content: { parts: [{ text: 'B' }] } },
        ],
      },
      {
        ...chunk({}),
        candidates: [
          { index: 1, content: { parts: [{ functionCall: { name: 'f', args: {} } }] }, finishReason: 'STOP' },
          { index: 0, content: {}, finishReason: 'STOP' },
        ],
      },
    ],
  },
  both(
    'usage',
    [{ text: 'x' }],
    'STOP',
    {},
    {
      usageMetadata: {
        promptTokenCount: 100,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 5,
        toolUsePromptTokenCount: 10,
        cachedContentTokenCount: 40,
        totalTokenCount: 135,
        promptTokensDetails: [
          { modality: 'AUDIO', tokenCount: 30 },
          { modality: 'TEXT', tokenCount: 70 },
        ],
        candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 8 }],
        trafficType: 'ON_DEMAND',
        serviceTier: 'flex',
      },
    },
  ),
  both('transcription', [
    { audioTranscription: { text: 'spoken', finished: true } },
    { inlineData: { mimeType: 'audio/wav', data: 'UklGRgAA' } },
  ]),
  both('unknown part', [{ warp: { factor: 9 } }, { text: 'x' }]),
  both('tool call server side', [
    { toolCall: { toolType: 'GOOGLE_SEARCH', args: {}, id: 't' } },
    { toolResponse: { id: 't', response: {} } },
    { text: 'x' },
  ]),
  both('response of a function', [
    { functionResponse: { id: 'a', name: 'f', response: { ok: true } } },
    { text: 'x' },
  ]),
  both(
    'usage by kinds',
    [{ text: 'x' }],
    'STOP',
    {},
    {
      usageMetadata: {
        promptTokenCount: 50,
        candidatesTokenCount: 2,
        totalTokenCount: 60,
        cachedContentTokenCount: 20,
        toolUsePromptTokenCount: 8,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 25 }],
        cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 10 }],
        toolUsePromptTokensDetails: [{ modality: 'TEXT', tokenCount: 8 }],
      },
    },
  ),
]
