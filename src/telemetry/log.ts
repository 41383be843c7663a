import pino, { type DestinationStream, type Logger } from 'pino'
import pretty from 'pino-pretty'
import { scrub } from './scrub.ts'

export type Log = Logger

export interface LogSettings {
  level: string
  format: 'json' | 'pretty'
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
  return pino(options, pino.destination({ dest: 1, sync: false, ...BATCHES }))
}

/** Lines go out together: a system call for each costs more than making the line. At the end of the process nothing is left. */
const BATCHES = { minLength: 4096, periodicFlush: 100 }
