import { type DestinationStream, type Logger, pino } from 'pino'
import type { logLevels } from './settings.ts'

export type Log = Logger

/** Fields of a line as JSON, without the brackets around them. */
export type LineWriter = (fields: string, message: string) => void

const writers = new WeakMap<Log, LineWriter>()

/** Lines of JSON on standard output; headers that carry secrets never reach them. */
export function createLog(
  level: (typeof logLevels)[number],
  // A system call for each line would cost a cached call as much as all the rest of it.
  output: DestinationStream = pino.destination({
    dest: 1,
    sync: false,
    minLength: 12_288,
    periodicFlush: 100,
  }),
): Log {
  const time = isoTimes()
  const log = pino({ level, base: null, timestamp: time }, output)
  const opening = `{"level":${pino.levels.values.info}`
  writers.set(log, (fields, message) => {
    if (log.isLevelEnabled('info')) output.write(`${opening}${time()},${fields},"msg":"${message}"}\n`)
  })
  return log
}

/**
 * Writes lines at level info just as the log does, for those who know how their fields look: finding that out anew for
 * each line is a good part of what a cached call costs. Undefined for a log that is made in another way.
 */
export function lineWriterOf(log: Log): LineWriter | undefined {
  return writers.get(log)
}

/** The date is worked out once a second: a busy service writes most of its lines in the same one. */
function isoTimes(): () => string {
  let second = Number.NaN
  let date = ''
  return () => {
    const now = Date.now()
    const ms = now % 1000
    if (now - ms !== second) {
      second = now - ms
      date = new Date(now).toISOString().slice(0, -4)
    }
    return `,"time":"${date}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z"`
  }
}
