import pino, { type DestinationStream, type Logger } from 'pino'
import pretty from 'pino-pretty'
import { scrub } from './scrub.ts'

export type Log = Logger

export interface LogSettings {
  level: string
  format: 'json' | 'pretty'
  /** Whether other processes write to the same stdout. */
  isShared?: boolean
}

/**
 * The process's logger, on stdout unless told otherwise. Every line goes through `scrub` as a whole, so that no
 * field, message or stack trace can carry a credential out.
 */
export function createLog(settings: LogSettings, destination?: DestinationStream): Log {
  const options = {
    level: settings.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: { streamWrite: scrub },
  }
  if (destination !== undefined) return pino(options, destination)
  if (settings.format === 'pretty')
    return pino(options, pretty({ colorize: process.stdout.isTTY, sync: true }))
  return pino(
    options,
    pino.destination({ dest: 1, sync: false, ...BATCHES, ...(settings.isShared ? ATOMIC : {}) }),
  )
}

/** Lines go out together: a system call for each costs more than making the line. At the end of the process nothing is left. */
const BATCHES = { minLength: 64 * 1024, maxWrite: 256 * 1024, periodicFlush: 100 }

/** So much goes through a pipe in one piece (PIPE_BUF): lines of several processes do not end up inside one another. */
const ATOMIC = { minLength: 2048, maxWrite: 4096 }
