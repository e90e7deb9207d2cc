import { type Logger, pino } from 'pino'
import type { logLevels } from './settings.ts'

export type Log = Logger

/** Lines of JSON on standard output; headers that carry secrets never reach them. */
export function createLog(level: (typeof logLevels)[number]): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime })
}
