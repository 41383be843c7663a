import { asArray, asNumber, asObject, asString, type JsonObject } from '@/json/json.ts'
import { Failure, refuse } from '@/simulator/failure.ts'
import { requireString } from '@/simulator/openai/validate.ts'
import { IMAGE_BASE64 } from '@/simulator/script/script.ts'
import { readSteering } from '@/simulator/script/steering.ts'
import { json, type OperationAnswer } from './answer.ts'
import { speech, transcription } from './audio.ts'
import { geminiEmbedding, geminiEmbeddings, openaiEmbeddings } from './embeddings.ts'
import type { OperationFields } from './fields.ts'
import { type Film, largeFilm, smallFilm } from './film.ts'
import { images } from './images.ts'
import type { OperationRoute } from './route.ts'
import { createVideoJobs, geminiOperation, isDone, openaiVideo, type VideoJob } from './video-jobs.ts'

/** One request that is no conversation, and what its answer is made of. */
interface OperationContext {
  route: OperationRoute
  fields: OperationFields
  seed: string
  createdSeconds: number
  origin: string
}

/** Embeddings, images, sounds and videos: small, lawful and the same for the same request. State: the video jobs. */
export function createOperations(): (context: OperationContext) => OperationAnswer {
  const jobs = createVideoJobs()
  return context => {
    const { route, fields, createdSeconds, origin } = context
    switch (route.action) {
      case 'embeddings':
        return json(openaiEmbeddings(fields.body))
      case 'embed-content':
        return json({ embedding: geminiEmbedding(fields.body) })
      case 'batch-embed-contents':
        return json({ embeddings: geminiEmbeddings(asArray(fields.body['requests'])) })
      case 'images':
        requireString(fields.body['prompt'], 'prompt')
        return images(fields.body, createdSeconds)
      case 'image-variation':
        return images(fields.body, createdSeconds)
      case 'predict':
        return json(predictions(fields.body))
      case 'speech':
        return speech(fields.body)
      case 'transcription':
        return transcription(fields)
      case 'video-create':
        return json(openaiVideo(jobs.start(videoJob(context, undefined))))
      case 'video-remix':
        return json(openaiVideo(jobs.start(videoJob(context, jobs.find(route.id)))))
      case 'predict-long-running':
        return json(geminiOperation(jobs.start(videoJob(context, undefined)), origin))
      case 'video-list':
        return json(videoList(jobs.all()))
      case 'video-show':
        return json(openaiVideo(jobs.look(route.id)))
      case 'operation':
        return json(geminiOperation(jobs.look(route.id), origin))
      case 'video-delete':
        jobs.remove(route.id)
        return json({ id: route.id, object: 'video.deleted', deleted: true })
      case 'video-content':
      case 'file':
        return { contentType: 'video/mp4', body: videoOf(jobs.find(route.id)) }
      default:
        return route.action satisfies never
    }
  }
}

function predictions(body: JsonObject): JsonObject {
  const instances = asArray(body['instances'])
  if (instances.length === 0) refuse('Invalid value at instances: at least one instance is required.')
  for (const instance of instances) {
    if (asString(asObject(instance)?.['prompt']) === undefined) refuse('Missing prompt in an instance.')
  }
  const length = asNumber(asObject(body['parameters'])?.['sampleCount']) ?? 1
  return {
    predictions: Array.from({ length }, () => ({ bytesBase64Encoded: IMAGE_BASE64, mimeType: 'image/png' })),
  }
}

/** The job that a request asks for, at either vendor; a remix keeps what it does not name. */
function videoJob(
  { route, fields: { body }, seed, createdSeconds }: OperationContext,
  before: VideoJob | undefined,
): VideoJob {
  const prompt = requireString(
    body['prompt'] ?? asObject(asArray(body['instances'])[0])?.['prompt'],
    'prompt',
  )
  const model = route.model ?? asString(body['model']) ?? before?.model ?? 'echo'
  const seconds = body['seconds'] ?? asObject(body['parameters'])?.['durationSeconds'] ?? before?.seconds ?? 4
  return {
    // A download address at Google is made of lower-case letters and digits only.
    id: route.model === undefined ? `video_${seed}` : seed,
    model,
    prompt,
    seconds: String(seconds),
    size: asString(body['size']) ?? before?.size ?? '720x1280',
    createdSeconds,
    remixedFrom: before?.id ?? null,
    looks: 0,
    refused: model.endsWith('refuse'),
  }
}

function videoList(jobs: VideoJob[]): JsonObject {
  const data = jobs.map(openaiVideo).reverse()
  return {
    object: 'list',
    data,
    has_more: false,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
  }
}

/** `long-N` makes a film of N MiB. */
function videoOf(job: VideoJob): Film {
  const { answer, length } = readSteering(job.model) ?? {}
  if (isDone(job) && !job.refused) return answer === 'long' ? largeFilm(length ?? 1) : smallFilm()
  throw new Failure(404, 'Video is not ready yet. Use GET /v1/videos/{video_id} to check its status.')
}
