import { DrizzleQueryError } from 'drizzle-orm/errors'
import pino, { type DestinationStream, type Logger, type SerializedError } from 'pino'
import pretty from 'pino-pretty'
import { LineWriter } from './line-writer.ts'
import { scrub } from './scrub.ts'

/** Pino's logger, and a short way for the one line that there is for every exchange. */
export interface Log extends Logger {
  /**
   * Writes what `info` would, but does not go through `scrub`: whoever calls this answers for it that the fields hold
   * nothing but numbers, words and ids of ours, and names that went through `scrubName`.
   */
  plain(fields: object, message: string): void
}

/** How a process logs. */
interface LogSettings {
  level: string
  format: 'json' | 'pretty'
  /** Whether other processes write to the same stdout. */
  isShared?: boolean
  /** Told of each line that is lost because nobody reads stdout, or its disk is full. */
  onDropped?: () => void
}

/**
 * The process's logger, on stdout unless told otherwise. Every line but a `plain` one goes through `scrub` as a whole,
 * so that no field, message or stack trace can carry a credential out.
 */
export function createLog(settings: LogSettings, destination?: DestinationStream): Log {
  const options = {
    level: settings.level,
    base: null,
    timestamp: isoTime,
    serializers: { err: fieldsOf },
    hooks: { streamWrite: scrub },
  }
  if (destination === undefined && settings.format === 'pretty') {
    const logger = pino(options, pretty({ colorize: process.stdout.isTTY, sync: true }))
    return Object.assign(logger, {
      plain: (fields: object, message: string) => logger.info(fields, message),
    })
  }
  const { isShared, onDropped } = settings
  const lines =
    destination ?? new LineWriter({ fd: STDOUT, maxWriteBytes: isShared ? PIPE_BUF : undefined, onDropped })
  const logger = pino(options, lines)
  return Object.assign(logger, {
    plain(fields: object, message: string) {
      if (logger.isLevelEnabled('info')) lines.write(plainLine(fields, message))
    },
  })
}

function fieldsOf(error: Error): object {
  forgetValues(error)
  return withoutCommand(pino.stdSerializers.err(error))
}

/** What the query builder hangs on its errors, message and stack included: the values of rows, people's addresses among them. */
function forgetValues(error: unknown): void {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof DrizzleQueryError)) continue
    const { message, stack = '' } = cause
    cause.message = `Failed query: ${cause.query}`
    cause.stack = stack.replace(message, () => cause.message)
    cause.params = []
  }
}

/** What ioredis hangs on its errors: a failed command with all its words, the password among them where that was AUTH. */
function withoutCommand({ command: _command, ...fields }: ToldError): object {
  const { lastNodeError } = fields
  return lastNodeError === undefined ? fields : { ...fields, lastNodeError: withoutCommand(lastNodeError) }
}

interface ToldError extends SerializedError {
  command?: unknown
  /** Of a cluster: what one of its nodes said. */
  lastNodeError?: ToldError
}

const { isoTime } = pino.stdTimeFunctions

const STDOUT = 1

/** So much goes through a pipe in one piece: lines of several processes do not end up inside one another. */
const PIPE_BUF = 4096

const INFO = pino.levels.values['info']

/** As pino writes it: level, time, the fields, the message. */
function plainLine(fields: object, message: string): string {
  const written = JSON.stringify(fields).slice(1, -1)
  return `{"level":${INFO}${isoTime()}${written && ','}${written},"msg":${JSON.stringify(message)}}\n`
}
