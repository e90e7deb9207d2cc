import { type Logger, pino } from 'pino'
import { LogOutput } from './log-output.ts'
import type { logLevels } from './settings.ts'

export type Log = Logger

/** Takes the fields as JSON without the braces. */
export type LineWriter = (fields: string, message: string) => void

/** Logs of about a second at the highest rate. */
const maxWaitingChars = 4 * 2 ** 20

const writers = new WeakMap<Log, { write: LineWriter; dropped: () => number }>()

export function standardOutput(): LogOutput {
  return new LogOutput(1, maxWaitingChars)
}

/** Writes lines of JSON, or what `format` makes of them, to standard output. */
export function createLog(
  level: (typeof logLevels)[number],
  output: Pick<LogOutput, 'write' | 'dropped' | 'onDropped'> = standardOutput(),
  format: (line: string) => string = (line) => line,
): Log {
  const time = isoTimes()
  const log = pino({ level, base: null, timestamp: time }, { write: (line) => output.write(format(line)) })
  output.onDropped = (lines) => log.warn({ lines }, 'log lines were dropped because nothing read them')
  const opening = `{"level":${pino.levels.values.info}`
  const write: LineWriter = (fields, message) => {
    if (!log.isLevelEnabled('info')) return
    output.write(format(`${opening}${time()},${fields},"msg":"${message}"}\n`))
  }
  writers.set(log, { write, dropped: () => output.dropped })
  return log
}

/** Writes lines that are already serialized: with pino's own serialization, a cache hit costs 8 to 17 % more. */
export function lineWriterOf(log: Log): LineWriter | undefined {
  return writers.get(log)?.write
}

/** Number of lines that were dropped because nothing read them. */
export function droppedLinesOf(log: Log): number {
  return writers.get(log)?.dropped() ?? 0
}

/** Formats the date once per second. pino's own function takes 2 % of the CPU time of a cache hit. */
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
    return `,"time":"${date}${String(ms).padStart(3, '0')}Z"`
  }
}
