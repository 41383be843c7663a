/** A film to be made, in no vendor's words. */
export interface VideoRequest {
  terms: VideoTerms
  /** What the film begins with. */
  image: VideoImage | undefined
  /** Fields of the caller's request that only its own format has, in the caller's spelling. */
  unread: readonly string[]
}

/** What an order comes to, whoever makes it: with the defaults of the caller's vendor for what it does not say. */
export interface VideoTerms {
  /** Empty where it says none, which is its maker's to refuse. */
  prompt: string
  /** Of each film. */
  seconds: number
  frame: VideoFrame
  /** How many films are made of it (Gemini's `sampleCount`; OpenAI makes one). */
  samples: number
}

/** In pixels. */
export interface VideoFrame {
  width: number
  height: number
}

/** A picture by its bytes, or by an address that only some vendors fetch. */
export type VideoImage = { mediaType: string; base64: string } | { url: string }

/** How a film is coming on, as its maker says. */
export interface VideoProgress {
  state: 'queued' | 'in_progress' | 'completed' | 'failed'
  /** In per cent. */
  percent: number
  /** Of a film that failed. */
  fault: VideoFault | undefined
  /** Seconds that were made, all films together; undefined: the maker does not say. */
  seconds: number | undefined
  /** Where each film lies at its maker, in the maker's words; empty where one id is enough. */
  files: readonly string[]
  /** Until when the maker keeps it, in seconds since 1970; undefined: it does not say. */
  keptUntil: number | undefined
}

/** Why a film failed, in its maker's words. */
export interface VideoFault {
  code: string
  message: string
}
