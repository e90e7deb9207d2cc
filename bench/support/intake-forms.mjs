import { isUtf8 } from 'node:buffer'
import { formatMicros } from '../../dist/base/timestamps.js'
import { readEntry } from '../../dist/ingest/entry.js'
import { checkEntry } from '../../dist/ingest/entry-check.js'
import { readTimestamp } from '../../dist/ingest/entry-timestamp.js'
import { parseJson } from '../../dist/ingest/faithful-json.js'
import { entriesOf } from '../../dist/ingest/log-entries.js'
import { engineLine } from './realistic-logs.mjs'

/** Ways from a body to rows. Those that do not hold every rule show what the rules cost. */
export const nodeForms = {
  'parse, check, write each entry anew': (body, nowMs) =>
    Buffer.concat(read(body).map(({ value }) => readEntry(value, nowMs).line)),
  'the same, tabs between the values': (body, nowMs) =>
    Buffer.concat(
      read(body).map(({ value }) => {
        const { project, id, timestamp, event_message, metadata } = checked(value, nowMs)
        const fields = [project, id, timestamp, event_message, JSON.stringify(metadata)]
        return Buffer.from(`${fields.map(escaped).join('\t')}\n`)
      }),
    ),
  'parse, check, copy the bytes of metadata': (body, nowMs) => {
    const spans = spansOf(body)
    return Buffer.concat(
      read(body).map(({ value }, index) => lineWithCopy(body, checked(value, nowMs), spans[index])),
    )
  },
  'cut, parse each, check, copy the bytes of metadata': (body, nowMs) =>
    Buffer.concat(
      spansOf(body).map((span) => {
        const value = parseJson(body.toString('utf8', span.start, span.end))
        return lineWithCopy(body, checked(value, nowMs), span)
      }),
    ),
  'parse and write, no checks': (body) =>
    Buffer.concat(read(body).map(({ value }) => Buffer.from(`${JSON.stringify(value)}\n`))),
  'nothing but to see that it is UTF-8': (body) => isUtf8(body) && body,
}

const read = (body) => entriesOf(body, 'application/json')

/** What readEntry does before it writes the line. */
function checked(value, nowMs) {
  checkEntry(value)
  const { project, id, timestamp, event_message, metadata } = value
  const micros = readTimestamp(timestamp)
  if (micros > BigInt(nowMs + 3_600_000) * 1000n) throw new Error('ahead')
  return { project, id, timestamp: formatMicros(micros), event_message, metadata }
}

function lineWithCopy(body, { project, id, timestamp, event_message }, { metadata, end }) {
  const head = `${JSON.stringify({ project, id, timestamp, event_message }).slice(0, -1)},"metadata":`
  const headLength = Buffer.byteLength(head)
  const line = Buffer.allocUnsafe(headLength + end - metadata + 1)
  line.write(head)
  // With the bracket that closes the entry.
  body.copy(line, headLength, metadata, end)
  line[line.length - 1] = 0x0a
  return line
}

/**
 * Where each entry of an array lies, and its metadata, for entries that have it last, as these do. It does not see
 * what is no valid JSON between them, nor a key that comes twice.
 */
function spansOf(body) {
  const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]
  const spans = []
  let [depth, key, start, metadata] = [0, 0, 0, 0]
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]
    if (byte === quote) {
      key = i
      for (i++; body[i] !== quote; i++) if (body[i] === backslash) i++
    } else if (byte === colon) {
      if (depth === 2 && body[key + 1] === 0x6d) metadata = i + 1
    } else if (byte === 0x7b || byte === 0x5b) {
      depth++
      if (depth === 2) start = i
    } else if (byte === 0x7d || byte === 0x5d) {
      depth--
      if (depth === 1) spans.push({ start, metadata, end: i + 1 })
    }
  }
  return spans
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
