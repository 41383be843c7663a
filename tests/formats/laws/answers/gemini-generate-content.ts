import { Type } from '@sinclair/typebox'
import { count, list, object, strict, text, word } from './shape.ts'

const signed = { thoughtSignature: text }
const byModality = list(strict({ modality: word('TEXT', 'AUDIO'), tokenCount: count }))
const token = strict({ token: text, logProbability: Type.Number() })
/** A whole answer, or a chunk of one. */
export const GEMINI = strict(
  { modelVersion: text, responseId: text },
  {
    candidates: list(
      strict(
        { index: count },
        {
          content: strict(
            { role: word('model') },
            {
              parts: Type.Array(
                Type.Union([
                  strict({ text }, { thought: Type.Literal(true), ...signed }),
                  strict({ functionCall: strict({ id: text, name: text, args: object }) }, signed),
                  strict(
                    { inlineData: strict({ mimeType: text, data: text }) },
                    { ...signed, audioTranscription: strict({ text }) },
                  ),
                  strict({ fileData: strict({ fileUri: text }, { mimeType: text }) }, signed),
                ]),
                { minItems: 1 },
              ),
            },
          ),
          finishReason: word(
            'STOP',
            'MAX_TOKENS',
            'SAFETY',
            'PROHIBITED_CONTENT',
            'MALFORMED_FUNCTION_CALL',
            'OTHER',
          ),
          finishMessage: text,
          groundingMetadata: strict({
            groundingChunks: list(
              Type.Union([
                strict({ web: strict({ uri: text }, { title: text }) }),
                strict({ retrievedContext: strict({}, { title: text }) }),
              ]),
            ),
            groundingSupports: list(
              strict({
                segment: strict({ startIndex: count, endIndex: count, text }, { partIndex: count }),
                groundingChunkIndices: list(count),
              }),
            ),
          }),
          logprobsResult: strict({
            chosenCandidates: list(token),
            topCandidates: list(strict({ candidates: list(token) })),
          }),
        },
      ),
    ),
    promptFeedback: strict({ blockReason: word('SAFETY') }),
    usageMetadata: strict(
      { promptTokenCount: count, candidatesTokenCount: count, totalTokenCount: count },
      {
        cachedContentTokenCount: count,
        thoughtsTokenCount: count,
        promptTokensDetails: byModality,
        candidatesTokensDetails: byModality,
        serviceTier: word('flex', 'priority'),
      },
    ),
  },
)
