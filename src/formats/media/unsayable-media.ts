import type { GatewayError } from '@/errors/gateway-error.ts'
import { unsayable } from '@/formats/invalid.ts'
import type { MediaPart } from '@/generation/part.ts'

/** A 400 of an encoder for media that its upstream cannot be given. */
export function unsayableMedia({ source }: Pick<MediaPart, 'source'>, problem: string): GatewayError {
  return unsayable(source.type === 'url' || source.type === 'file-id' ? 'mediaAddress' : 'media', problem)
}
