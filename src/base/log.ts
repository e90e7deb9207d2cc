import { type DestinationStream, type Logger, pino } from 'pino'
import type { logLevels } from './settings.ts'

export type Log = Logger

/** Fields of a line as JSON, without the brackets around them. */
export type LineWriter = (fields: string, message: string) => void

/** Lines written by hand go to the output when there are so many characters of them, or after so long. */
const maxGathered = 8_192
const gatheredForMs = 50

const writers = new WeakMap<Log, LineWriter>()

/** Lines of JSON on standard output; headers that carry secrets never reach them. */
export function createLog(
  level: (typeof logLevels)[number],
  // A system call for each line would cost a cached call as much as all the rest of it.
  output: DestinationStream & { flushSync?(): void } = pino.destination({
    dest: 1,
    sync: false,
    minLength: 12_288,
    periodicFlush: 100,
  }),
): Log {
  const time = isoTimes()
  let gathered = ''
  const handOver = () => {
    if (gathered !== '') output.write(gathered)
    gathered = ''
  }
  const inOrder = {
    write: (line: string) => {
      handOver()
      output.write(line)
    },
    flush: handOver,
    flushSync: () => output.flushSync?.(),
  }
  const log = pino({ level, base: null, timestamp: time }, inOrder)
  const opening = `{"level":${pino.levels.values.info}`
  writers.set(log, (fields, message) => {
    if (!log.isLevelEnabled('info')) return
    if (gathered === '') setTimeout(handOver, gatheredForMs).unref()
    gathered += `${opening}${time()},${fields},"msg":"${message}"}\n`
    if (gathered.length >= maxGathered) handOver()
  })
  return log
}

/**
 * Writes lines at level info in the same form as the log, for callers that serialize the fields themselves. These lines
 * reach the output many at a time, since it measures all that it holds whenever it is given something. Other lines, and
 * `log.flush()`, hand them over before. Undefined for a log that was made in another way.
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
