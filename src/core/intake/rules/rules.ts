import { keysOf, shownPath } from '../../../shared/path-text.ts'
import { invalidParameter, WellheadError } from '../../base/errors.ts'
import { JsonPaths, pathName } from '../../base/json/json-paths.ts'
import { backslash, openObject } from '../../base/json/json-scanner.ts'
import type { TypedColumn } from '../../catalog/source.ts'
import { maskNames, type Rule } from '../../catalog/source-rules.ts'
import { entryMatch } from '../../search/condition-match.ts'
import { readQuery } from '../../search/parse-query.ts'
import { type EntryMatch, type OwnColumn, StoredEntry } from '../../search/stored-entry.ts'
import { type Edit, edited, PathEdits } from './edits.ts'
import { maskJson } from './mask-json.ts'

/** An entry as it would be stored. Message and metadata are compact JSON. */
export interface RuledEntry {
  text(column: 'project' | 'id'): string
  message: Buffer
  metadata: Buffer
}

type Step =
  | { kind: 'drop'; rule: number; match: EntryMatch; keep: number }
  | { kind: 'edit'; message: Edit[]; metadata: PathEdits; hasPaths: boolean }

/** Conditions of all rules of a source. Each reads the entry. */
const maxConditions = 50

/** What tells the entries of a trace. */
const traceKeys = [['trace_id'], ['traceId'], ['trace', 'id']]
const traceNames = traceKeys.map(pathName)

/** Whether the rule takes something out of entries that must not be kept. */
export function hides({ remove, redact, mask }: Rule): boolean {
  return (remove ?? redact ?? mask) !== undefined
}

/** The rules of a source, ready to be applied. */
export class Rules {
  readonly count: number
  /** Whether entries may have something that must not be kept. */
  readonly hides: boolean
  readonly #steps: Step[] = []
  readonly #paths = new JsonPaths()
  readonly #masked: (typeof maskNames)[number][]
  #conditions = 0

  /** Throws 400 if a search is wrong. Rules with their own searches do not know the columns of a source. */
  constructor(rules: readonly Rule[], columnsOf: (rule: number) => readonly TypedColumn[]) {
    this.count = rules.length
    this.hides = rules.some(hides)
    this.#masked = maskNames.filter((name) => rules.some(({ mask }) => mask?.includes(name)))
    if (rules.some(({ sample }) => sample !== undefined)) for (const keys of traceKeys) this.#paths.add(keys)
    for (const [index, rule] of rules.entries()) this.#add(index, rule, columnsOf(index))
  }

  #add(
    index: number,
    { drop, sample, where, remove, redact, mask, ...rest }: Rule,
    columns: readonly TypedColumn[],
  ) {
    if (drop !== undefined || sample !== undefined) {
      const name = drop === undefined ? 'where' : 'drop'
      const match = this.#matchOf(drop ?? where ?? '', `rules.${index}.${name}`, columns)
      this.#steps.push({ kind: 'drop', rule: index, match, keep: sample ?? 0 })
    } else if (mask) {
      const edit: Edit = { kind: 'mask', rule: index, names: mask }
      for (const [at, path] of (rest.in ?? ['event_message', 'metadata']).entries()) {
        refuseColumn(path, `rules.${index}.in.${at}`, columns)
        this.#edit(path, edit)
      }
    } else {
      const [kind, path] =
        remove === undefined ? (['redact', redact ?? ''] as const) : (['remove', remove] as const)
      refuseColumn(path, `rules.${index}.${kind}`, columns)
      this.#edit(path, { kind, rule: index })
    }
  }

  #matchOf(query: string, field: string, columns: readonly TypedColumn[]): EntryMatch {
    try {
      const match = entryMatch(readQuery(query, columns, maxConditions))
      this.#conditions += match.tests.length
      if (this.#conditions > maxConditions) {
        throw invalidParameter(field, `The rules have more than ${maxConditions} conditions. Use fewer.`)
      }
      for (const keys of match.paths) this.#paths.add(keys)
      return match
    } catch (error) {
      throw error instanceof WellheadError ? invalidParameter(field, error.message) : error
    }
  }

  /** Joins edits that cannot touch the same value into one step. */
  #edit(path: string, edit: Edit): void {
    const last = this.#steps.at(-1)
    const keys = keysOf(path)
    if (keys[0] === 'metadata') keys.shift()
    if (last?.kind === 'edit') {
      if (path === 'event_message') last.message.push(edit)
      else if (!last.metadata.add(keys, edit)) this.#steps.push(newStep(keys, edit))
      else last.hasPaths = true
      return
    }
    this.#steps.push(path === 'event_message' ? newStep(undefined, edit) : newStep(keys, edit))
  }

  /** Whether the entry stays. Counts what each rule drops or changes. */
  apply(entry: RuledEntry, hits: number[]): boolean {
    let stored: StoredEntry | undefined
    const read = () => {
      stored ??= new StoredEntry((column) => textOf(entry, column), entry.metadata, this.#paths)
      return stored
    }
    const touched = new Set<number>()
    for (const step of this.#steps) {
      if (step.kind === 'drop') {
        const { match, keep, rule } = step
        const isMatch = match.decide((test) => match.tests[test]?.(read()) ?? false)
        if (!isMatch || (keep > 0 && share(read()) < keep)) continue
        hits[rule] = (hits[rule] ?? 0) + 1
        return false
      }
      const { message, metadata } = entry
      for (const edit of step.message) {
        const before = entry.message
        entry.message = edited(before, edit)
        if (entry.message !== before) touched.add(edit.rule)
      }
      if (step.hasPaths) {
        const onEdit = (rule: number) => touched.add(rule)
        entry.metadata = step.metadata.apply(metadata, onEdit)
        entry.message = editedText(entry.message, step.metadata, onEdit)
      }
      if (entry.message !== message || entry.metadata !== metadata) stored = undefined
    }
    for (const rule of touched) hits[rule] = (hits[rule] ?? 0) + 1
    return true
  }

  /** A value of JSON, wherever it was sent, without everything that any rule masks. */
  masked(json: string): string {
    const text = Buffer.from(json).toString('latin1')
    return Buffer.from(maskJson(text, this.#masked) ?? text, 'latin1').toString()
  }
}

/** Searches know typed columns by their names, but a rule would miss their values. */
function refuseColumn(path: string, field: string, columns: readonly TypedColumn[]): void {
  const column = columns.find(({ name }) => name === path)
  if (!column || column.path === path) return
  const text = `"${path}" is the name of a typed column. Write ${shownPath(column.path)}, or metadata.${path} for the key.`
  throw invalidParameter(field, text)
}

function newStep(keys: readonly string[] | undefined, edit: Edit): Step {
  const metadata = new PathEdits()
  if (keys) metadata.add(keys, edit)
  return { kind: 'edit', message: keys ? [] : [edit], metadata, hasPaths: keys !== undefined }
}

const space = 0x20

/** Whether a message in JSON can be an object, perhaps after white space or with escapes. Decides most messages at once. */
function mayBeObject(message: Buffer): boolean {
  const first = message[1] as number
  return first === openObject || first === space || first === backslash || first >= 0x80
}

/** A message that is a JSON object, such as a structured body of OpenTelemetry, has what paths name as well. */
function editedText(message: Buffer, edits: PathEdits, onEdit: (rule: number) => void): Buffer {
  if (!edits.hasKeys || !mayBeObject(message)) return message
  let json: string
  try {
    // Also removes white space that JSON does not allow, such as a byte order mark.
    const text = (JSON.parse(message.toString()) as string).trim()
    if (!text.startsWith('{')) return message
    json = JSON.stringify(JSON.parse(text))
  } catch {
    return message
  }
  const before = Buffer.from(json)
  const after = edits.applyToMessage(before, onEdit)
  return after === before ? message : Buffer.from(JSON.stringify(after.toString()))
}

function textOf(entry: RuledEntry, column: OwnColumn): string {
  return column === 'event_message' ? JSON.parse(entry.message.toString()) : entry.text(column)
}

/** Where the trace of an entry, or else the entry, is between 0 and 1: the same on each service and at any time. */
function share(entry: StoredEntry): number {
  const trace = traceNames.map((name) => entry.at(name)).find((id) => id)
  return hash(trace ?? entry.column('id')) / 2 ** 32
}

/** FNV-1a, and the end of MurmurHash3, which spreads texts that hardly differ. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}
