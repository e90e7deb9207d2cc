import { isUtf8 } from 'node:buffer'
import { EntryBatchWriter } from '../../build/intake/entry-batch.js'
import { readLogEntries } from '../../build/intake/log-entries.js'
import { engineLine } from './realistic-logs.mjs'

/** Ways from a body to rows. Those that do not hold every rule show what the rules cost. */
export const nodeForms = {
  'scan, check, copy the bytes of metadata': (body, nowMs) => readAll(body, 'application/json', nowMs),
  'parse and write each entry anew, no checks': (body) =>
    Buffer.concat(JSON.parse(body).map((entry) => Buffer.from(`${JSON.stringify(entry)}\n`))),
  'parse only': (body) => JSON.parse(body),
  'nothing but to see that it is UTF-8': (body) => isUtf8(body) && body,
}

function readAll(body, contentType, nowMs) {
  const { lines, count } = readLogEntries(
    body,
    contentType,
    () => new EntryBatchWriter('edge_logs', { nowMs, retentionDays: 90 }),
  )
  if (lines.count !== count) throw new Error(`${count - lines.count} entries were rejected.`)
  return lines.bytes
}

const fieldsOf = (entry) => {
  const { timestamp, ...row } = JSON.parse(engineLine(entry))
  return [row.project, row.id, timestamp, row.event_message, JSON.stringify(row.metadata)]
}

const escapes = { '\\': '\\\\', '\t': '\\t', '\n': '\\n' }
const escaped = (text) => text.replace(/[\\\t\n]/g, (character) => escapes[character])

/** Forms in which the engine can be given the same rows. */
export const engineForms = [
  {
    name: 'a line of JSON, metadata inside',
    format: 'JSONEachRow',
    rowsOf: (entries) => Buffer.from(entries.map(engineLine).join('')),
  },
  {
    name: 'the same, parsed by one thread',
    format: 'JSONEachRow',
    settings: { input_format_parallel_parsing: 0 },
    rowsOf: (entries) => Buffer.from(entries.map(engineLine).join('')),
  },
  {
    name: 'values between tabs, metadata as escaped text',
    format: 'TabSeparated',
    settings: { input_format_parallel_parsing: 0 },
    rowsOf: (entries) =>
      Buffer.from(entries.map((entry) => `${fieldsOf(entry).map(escaped).join('\t')}\n`).join('')),
  },
  {
    name: 'a list of JSON, metadata inside',
    format: 'JSONCompactEachRow',
    settings: { input_format_parallel_parsing: 0 },
    rowsOf: (entries) =>
      Buffer.from(
        entries
          .map((entry) => {
            const { project, id, timestamp, event_message, metadata } = JSON.parse(engineLine(entry))
            return `${JSON.stringify([project, id, timestamp, event_message, metadata])}\n`
          })
          .join(''),
      ),
  },
  {
    // Nothing is checked, other keys are dropped, and one bad entry refuses all of them.
    name: 'the body as it was sent',
    format: 'JSONEachRow',
    settings: { date_time_input_format: 'best_effort', input_format_skip_unknown_fields: 1 },
    rowsOf: (entries) => Buffer.from(JSON.stringify(entries)),
  },
]
