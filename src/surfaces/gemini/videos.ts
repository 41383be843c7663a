import { attendWork } from '@/exchange/attendance.ts'
import type { Listener } from '@/exchange/call.ts'
import { videoContent } from '@/exchange/videos/content.ts'
import type { VideoGateway } from '@/exchange/videos/store.ts'
import { readFileId, readOperationId, viewOf } from '@/exchange/videos/view.ts'
import { unknownPath } from '@/surfaces/unknown-path.ts'
import { findVideo, fresh, originOf } from '@/surfaces/videos.ts'

/** The operation that a path below `models/` names; undefined for what is a model. */
export function readOperationPath(path: string): string | undefined {
  return /^.+\/operations\/([^/]+)$/.exec(path)?.[1]
}

/** GET {version}/models/{model}/operations/{id}: how a video is coming on. */
export function showOperation(
  gateway: VideoGateway,
  listener: Listener,
  request: Request,
  id: string,
): Promise<Response> {
  return attendWork(gateway, { request, listener, surface: 'gemini' }, async ({ caller }) => {
    const job = await fresh(gateway, await findVideo(gateway, caller.accountId, readOperationId(id)))
    return viewOf(job, 'gemini', originOf(gateway, request))
  })
}

/** GET {version}/files/{id}:download: the bytes of a video. Nothing else is a file here. */
export function downloadFile(
  gateway: VideoGateway,
  listener: Listener,
  request: Request,
  rest: string,
): Response | Promise<Response> {
  const [, name] = /^([^/:]+)(?::|%3A)download$/i.exec(rest) ?? []
  if (name === undefined) return unknownPath(request, gateway.newRequestId())
  return attendWork(gateway, { request, listener, surface: 'gemini' }, async ({ caller, record }) => {
    const file = readFileId(name)
    const job = await findVideo(gateway, caller.accountId, file?.id)
    return videoContent(gateway, record, {
      request,
      listener,
      job,
      index: file?.index ?? 0,
      variant: undefined,
    })
  })
}
