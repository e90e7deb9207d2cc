import { invalidBody } from '../base/errors.ts'
import { parseJson } from './faithful-json.ts'

/** One entry of a body as it was sent, or the line that is none. */
export type SentEntry = { value: unknown; refusal?: Refusal } | { unreadable: string }

/** Why an entry is not even read: there is no place for it. */
export interface Refusal {
  /** What it was meant for. */
  source: string
  reason: string
}

/** One object, an array, {"batch":[…]}, or a line of JSON for each entry. */
export function entriesOf(body: Buffer, contentType: string): SentEntry[] {
  const text = decode(body)
  if (text.trim() === '') throw invalidBody('The body is empty.')
  if (/ndjson|jsonl|json-seq/i.test(contentType)) return lines(text)
  const whole = tryParse(text)
  if (whole === undefined) {
    // A broken array is no list of lines, and what says that it is one JSON is held to it.
    const oneDocument = /\bjson\b/i.test(contentType) || text.trimStart().startsWith('[')
    if (!oneDocument && text.trim().includes('\n')) return lines(text)
    throw invalidBody('The body is not valid JSON.')
  }
  if (Array.isArray(whole.value)) return whole.value.map((value) => ({ value }))
  const batch = (whole.value as { batch?: unknown } | null)?.batch
  if (Array.isArray(batch) && Object.keys(whole.value as object).length === 1) {
    return batch.map((value) => ({ value }))
  }
  return [whole]
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw invalidBody('The body is not valid UTF-8.')
  }
}

function lines(text: string): SentEntry[] {
  const entries = text
    .split('\n')
    .map((line) => line.replace(/^\x1e/, '').trim())
    .filter((line) => line !== '')
    .map((line): SentEntry => tryParse(line) ?? { unreadable: line })
  if (entries.every((entry) => 'unreadable' in entry)) throw invalidBody('The body is not valid JSON.')
  return entries
}

function tryParse(text: string): { value: unknown } | undefined {
  try {
    return { value: parseJson(text) }
  } catch {
    return undefined
  }
}
