import type { JsonObject } from '@/json/json.ts'
import type { OutputCount, Step } from '@/simulator/script/script.ts'
import type { CachePolicy, InputCount } from '@/simulator/script/usage.ts'
import type { Failure } from './failure.ts'
import type { Prompt } from './prompt.ts'

/** One accepted request and the answer planned for it: all that a writer needs. */
export interface Exchange {
  /** Hexadecimal, made from the request and a counter: every id in the answer begins with it. */
  seed: string
  createdSeconds: number
  prompt: Prompt
  /** The request's body, for formats that echo it. */
  body: JsonObject
  input: InputCount
  /** Grows while the steps are played; complete after the last one. */
  output: OutputCount
  reportsUsage: boolean
  /** The answer's steps; each call is one of the answers wanted (n, candidateCount). */
  play(): Iterable<Step>
}

/** How one vendor reads, answers and refuses. */
export interface Dialect {
  cachePolicy: CachePolicy
  /** Checks a request as strictly as the vendor and reads it; throws a Failure. */
  read(request: DialectRequest): Prompt
  /** The frames of a streamed answer, one event each, made when they are pulled. */
  stream(exchange: Exchange, request: DialectRequest): Generator<string>
  /** The answer in one piece; throws a Failure when the script holds an error. */
  whole(exchange: Exchange): JsonObject
  /** The answer of the counting path. */
  countBody(tokens: number): JsonObject
  /** The body of an error answer. */
  errorBody(failure: Failure, seed: string): JsonObject
  streamType(request: DialectRequest): string
}

/** A request as far as it is the same for all vendors. */
export interface DialectRequest {
  /** The model from the path, where the vendor has it there. */
  pathModel: string
  /** True when the path itself asks for a stream. */
  pathStreams: boolean
  /** True on the counting paths, which ask for less. */
  counts: boolean
  headers: Headers
  query: URLSearchParams
  body: JsonObject
}
