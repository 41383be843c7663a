import type { Usage } from './usage.ts'

/** A request for images, in no vendor's words. */
export interface ImageRequest {
  prompt: string
  /** Undefined: as many as the vendor gives by itself. */
  count: number | undefined
  /** In pixels; undefined leaves it to the model. */
  size: ImageSize | undefined
  /** `16:9`, from callers who say no pixels; undefined leaves it to the model. */
  aspectRatio: string | undefined
  /** Media type of the images; undefined leaves it to the model. */
  mediaType: string | undefined
  /** Fields of the caller's request that only its own format has, in the caller's spelling. */
  unread: readonly string[]
}

/** What of a request an upstream cannot be told, or only nearly. */
export type LostFact = 'shape' | 'mediaType'

/** In pixels. */
export interface ImageSize {
  width: number
  height: number
}

/** An image that a model made. */
export interface MadeImage {
  mediaType: string
  base64: string
  /** The prompt that it was really made from; undefined where nobody says. */
  revisedPrompt: string | undefined
}

/** A whole answer to a request for images, in no vendor's words. */
export interface ImageAnswer {
  images: readonly MadeImage[]
  /** Why others were withheld, in the vendor's words. */
  withheld: readonly string[]
  /** Undefined where the upstream reports none. */
  usage: Usage | undefined
}
