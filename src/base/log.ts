import { type Logger, pino } from 'pino'
import type { logLevels } from './settings.ts'

export type Log = Logger

/** Lines of JSON on standard output; headers that carry secrets never reach them. */
export function createLog(level: (typeof logLevels)[number]): Log {
  // A system call for each line would cost a cached call as much as all the rest of it.
  const output = pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 100 })
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, output)
}
