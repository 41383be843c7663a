import type { GatewayError } from '@/errors/gateway-error.ts'
import { notOffered } from '@/exchange/admission/admission.ts'
import type { RequestBody } from '@/exchange/admission/body.ts'
import { textTokens, withMargin } from '@/exchange/billing/token-estimate.ts'
import * as gemini from '@/formats/gemini-generate-content/images.ts'
import { asArray, asObject } from '@/json/json.ts'
import type { Route } from '@/routing/model.ts'
import { imageCeiling, imageUse } from './image-price.ts'
import { type ImageWords, imageWayOf, readImages, writeImages } from './image-upstream.ts'
import { objectionIn, type PreparedWhole, type WholeOperation } from './operation.ts'
import { JSON_TYPE, readJsonAnswer } from './operation-wire.ts'

/** Images by Gemini's `:predict`, as Imagen is called: on Imagen, on OpenAI's models and on Gemini's own. */
export function predictionOperation(body: RequestBody, model: string): WholeOperation {
  const asked = {
    facts: { sizes: gemini.predictionSizes(body.json), quality: undefined },
    count: gemini.predictionCount(body.json),
    text: textTokens(asArray(body.json['instances']).map(entry => asObject(entry)?.['prompt'] ?? null)),
  }
  return {
    model,
    format: 'gemini-generate-content',
    delivery: 'whole',
    price: {
      work: 'image',
      ceiling: rates =>
        imageCeiling(
          { ...asked, partial: 0, textTokens: withMargin(asked.text), inputs: 0, frames: 1, authored: false },
          rates,
        ),
    },
    objection: route => objectionOf(body, model, route),
    prepare: (route, { price }): PreparedWhole => {
      const way = imageWayOf(route) ?? 'imagen'
      const isOwn = way === 'imagen'
      return {
        ...(isOwn ? passOn(body, route) : write(body, route)),
        read: bytes => {
          const answer = readImages(readJsonAnswer(bytes), way)
          const made = { facts: asked.facts, count: answer.images.length, usage: answer.usage }
          return {
            body: isOwn ? bytes : JSON.stringify(gemini.encodePredictions(answer)),
            contentType: JSON_TYPE,
            used: imageUse({ ...made, textTokens: asked.text }, price?.rates),
          }
        },
      }
    },
  }
}

const WORDS: ImageWords = {
  count: 'parameters.sampleCount',
  shape: 'parameters.aspectRatio',
  mediaType: 'parameters.outputOptions',
}

function passOn({ bytes }: RequestBody, { upstreamModel }: Route) {
  return {
    call: { kind: 'predict', model: upstreamModel, stream: false } as const,
    body: bytes,
    headers: {},
    losses: [],
  }
}

function write(body: RequestBody, route: Route) {
  return writeImages(gemini.decodePredictRequest(body.json), [], route, WORDS)
}

function objectionOf(body: RequestBody, model: string, route: Route): GatewayError | undefined {
  const way = imageWayOf(route)
  if (way === undefined) return notOffered(model)
  return way === 'imagen' ? undefined : objectionIn(() => write(body, route))
}
