import { formatAge } from '../../base/text/duration.ts'
import type { CommandOutput } from '../command-io.ts'
import { visible } from '../output/visible.ts'

interface LogLine {
  level: number
  time: string
  msg?: string
  err?: { message?: string; stack?: string }
  [field: string]: unknown
}

/** Turns a line of JSON into one for people: time, level, message, fields. */
export function readableLine(text: string, colors: CommandOutput['colors']): string {
  const { level, time, msg = '', err, ...fields } = JSON.parse(text) as LogLine
  const [name, color] = levels[level] ?? ['trace', 'blue']
  const head = [colors.dim(timeOfDay(time)), colors[color](name.padEnd(5))]
  const parts = msg === 'request' ? [requestText(fields, colors)] : [visible(msg), fieldsText(fields, colors)]
  const body = [...head, ...parts, err?.message === undefined ? '' : colors.red(visible(err.message))]
  const shown = body.filter((part) => part !== '').join('  ')
  // Below an error, only the lines that say where it happened.
  const stack = err?.stack?.split('\n').filter((one) => /^\s+at /.test(one)) ?? []
  return [shown, ...stack.map((one) => colors.dim(`    ${visible(one.trim())}`)), ''].join('\n')
}

const levels: Record<number, readonly [name: string, color: 'red' | 'yellow' | 'green' | 'blue']> = {
  60: ['fatal', 'red'],
  50: ['error', 'red'],
  40: ['warn', 'yellow'],
  30: ['info', 'green'],
  20: ['debug', 'blue'],
}

/** In the time zone of the terminal. */
function timeOfDay(time: string): string {
  const date = new Date(time)
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Ids are shown for failed requests only, to find the line of an error. */
function requestText(fields: Record<string, unknown>, colors: CommandOutput['colors']): string {
  const { method, path, status, ms, request_id: id } = fields
  const color = Number(status) >= 500 ? colors.red : Number(status) >= 400 ? colors.yellow : colors.green
  const took = typeof ms === 'number' ? (ms < 10_000 ? `${ms} ms` : formatAge(ms / 1000)) : ''
  const failed = Number(status) >= 400 && typeof id === 'string' ? [colors.dim(visible(id))] : []
  return [visible(`${method} ${path}`), color(String(status)), colors.dim(took), ...failed].join('  ')
}

function fieldsText(fields: Record<string, unknown>, colors: CommandOutput['colors']): string {
  const parts = Object.entries(fields).map(([name, value]) =>
    visible(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`),
  )
  return parts.length === 0 ? '' : colors.dim(parts.join(' '))
}
