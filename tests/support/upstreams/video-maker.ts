import { type ScriptedUpstream, type SeenRequest, scriptedUpstream } from './upstream.ts'

/** An upstream that makes videos the way of both vendors, as far as a test lets it. */
export interface VideoMaker extends ScriptedUpstream {
  /** How every video stands, as the next look finds it. */
  state: 'queued' | 'in_progress' | 'completed' | 'failed' | 'lost' | 'broken'
  /** Answers downloads. */
  film: (request: SeenRequest, signal: AbortSignal) => Response | Promise<Response>
  /** Of Veo: how many of the films that were ordered are withheld. */
  withheld: number
  /** Looks at videos so far. */
  looks(): number
}

export function videoMaker(): VideoMaker {
  const samples = new Map<string, number>()
  let serial = 0
  const upstream = scriptedUpstream((request, signal) => answer(request, signal))
  const maker: VideoMaker = Object.assign(upstream, {
    state: 'in_progress' as const,
    film: () => new Response('film', { headers: { 'content-type': 'video/mp4' } }),
    withheld: 0,
    looks: () => maker.seen.filter(({ method, path }) => method === 'GET' && isLook(path)).length,
  })

  function answer(request: SeenRequest, signal: AbortSignal): Response | Promise<Response> {
    const { method, path, body } = request
    if (path.endsWith('/content') || path.includes('/files/')) return maker.film(request, signal)
    if (method === 'DELETE') return Response.json({ id: 'x', object: 'video.deleted', deleted: true })
    if (maker.state === 'broken') return new Response('{"error":{"message":"down"}}', { status: 500 })
    if (method === 'POST') {
      serial += 1
      if (!path.endsWith(':predictLongRunning')) return Response.json(video(`v${serial}`, 'queued'))
      const name = `models/veo/operations/o${serial}`
      samples.set(name, JSON.parse(Buffer.from(body).toString()).parameters?.sampleCount ?? 1)
      return Response.json({ name })
    }
    if (maker.state === 'lost') return new Response('{"error":{"message":"no such video"}}', { status: 404 })
    const name = path.replace('/v1beta/', '')
    return Response.json(path.includes('/operations/') ? operation(name) : video(path.slice(11), maker.state))
  }

  function video(id: string, status: string) {
    const error = status === 'failed' ? { code: 'moderation_blocked', message: 'no' } : null
    return {
      id,
      object: 'video',
      status,
      model: 'sora',
      progress: 40,
      created_at: 1,
      error,
      maker_says: 'hello',
    }
  }

  function operation(name: string) {
    if (maker.state === 'failed') return { name, done: true, error: { code: 3, message: 'no' } }
    if (maker.state !== 'completed') return { name, metadata: { maker_says: 'hello' } }
    const made = (samples.get(name) ?? 1) - maker.withheld
    const generatedSamples = Array.from({ length: made }, (_, index) => ({
      video: { uri: `${maker.url}/v1beta/files/f${index}:download?alt=media`, encoding: 'video/mp4' },
    }))
    return { name, done: true, response: { generateVideoResponse: { generatedSamples } } }
  }

  return maker
}

function isLook(path: string): boolean {
  return /^\/v1\/videos\/[^/]+$/.test(path) || path.includes('/operations/')
}
