import { createHash } from 'node:crypto'
import { invalidParameter } from '../base/errors.ts'
import type { SavedAlert, StateName } from './alert.ts'
import { type AlertState, afterEvaluation, type NotifiedState, type Progress } from './alert-state.ts'
import { decide, type ResultRows, type Row } from './condition.ts'

const maxGroups = 1_000
/** Of each value of a key that is shown. */
const maxValueLength = 200

export interface GroupState extends Progress {
  /** Stable for the alert and the key. */
  readonly id: string
  readonly key: Row
  told: NotifiedState
  toldMs: number
  /** Since when the group has no rows. Null: it has some. */
  missingMs: number | null
}

/** The groups after an evaluation, and the number of those beyond the limit. Throws if the result lacks a column. */
export function evaluateGroups(
  alert: SavedAlert,
  known: readonly GroupState[],
  result: ResultRows,
  nowMs: number,
): { groups: GroupState[]; groupsLeftOut: number } {
  const { condition, definition, keepMissingMs } = alert
  const { found, leftOut } = split(result.rows, definition.by)
  const before = new Map(known.map((group) => [group.id, group]))
  const present = [...found].map(([text, indices]) => {
    const id = createHash('sha256').update(`${alert.id} ${text}`).digest('base64url').slice(0, 22)
    const group =
      before.get(id) ?? newGroup(id, keyOf(result.rows[indices[0] as number] as Row, definition.by), nowMs)
    before.delete(id)
    const decision = decide(condition, result, indices)
    return { ...afterEvaluation(group, definition, decision, nowMs), missingMs: null }
  })
  const room = maxGroups - present.length
  const missing = [...before.values()].sort((one, other) => rank(other) - rank(one))
  const kept = missing.flatMap((group, index) => {
    const missingMs = group.missingMs ?? nowMs
    if (index < room && nowMs - missingMs < keepMissingMs) return [{ ...group, missingMs }]
    // Receivers that know of it are notified first.
    return group.told === 'ok' ? [] : [resolved(group, nowMs, missingMs)]
  })
  return { groups: [...present, ...kept], groupsLeftOut: leftOut }
}

/** The indices of the rows of each group, and the number of groups beyond the limit. */
function split(rows: readonly Row[], by: readonly string[]) {
  const found = new Map<string, number[]>()
  const leftOut = new Set<string>()
  for (const [index, row] of rows.entries()) {
    const text = JSON.stringify(by.map((column) => valueIn(row, column)))
    const indices = found.get(text)
    if (indices) indices.push(index)
    else if (found.size < maxGroups) found.set(text, [index])
    else leftOut.add(text)
  }
  return { found, leftOut: leftOut.size }
}

function valueIn(row: Row, column: string): unknown {
  const value = row[column]
  if (value === undefined) throw invalidParameter('by', `The result has no column "${column}" any more.`)
  return value
}

function keyOf(row: Row, by: readonly string[]): Row {
  return Object.fromEntries(by.map((column) => [column, shown(row[column])]))
}

function shown(value: unknown): unknown {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return (text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text).toWellFormed()
}

function newGroup(id: string, key: Row, nowMs: number): GroupState {
  return {
    ...{ id, key, state: 'ok', previous: 'ok', sinceMs: nowMs, evaluatedMs: null, value: null, error: null },
    ...{ failures: 0, heldMs: null, told: 'ok', toldMs: nowMs, missingMs: null },
  }
}

/** The group as one whose condition is not met any more. */
export function resolved(group: GroupState, nowMs: number, missingMs: number | null = null): GroupState {
  const changed = group.state === 'ok' ? {} : { state: 'ok' as const, previous: group.state, sinceMs: nowMs }
  return { ...group, ...changed, value: null, heldMs: null, missingMs }
}

function rank({ state, told }: GroupState): number {
  return (state === 'firing' ? 4 : 0) + (told === 'ok' ? 0 : 2) + (state === 'pending' ? 1 : 0)
}

/** The state of an alert by group: the most severe of its groups. Its value is the number of groups that fire. */
export function afterGroups(before: AlertState, groups: readonly GroupState[], nowMs: number): Progress {
  const states = new Set<StateName>(groups.map(({ state }) => state))
  const state = states.has('firing') ? 'firing' : states.has('pending') ? 'pending' : 'ok'
  const value = groups.filter((group) => group.state === 'firing').length
  const changed = state === before.state ? before : { state, previous: before.state, sinceMs: nowMs }
  const { previous, sinceMs } = changed
  return {
    state,
    previous,
    sinceMs,
    evaluatedMs: nowMs,
    value,
    error: null,
    failures: 0,
    heldMs: null,
  } as Progress
}

/** A group as notifications and the API show it. */
export function groupView({ key, id, state, value, sinceMs }: GroupState) {
  return { key, id, state, value, since: new Date(sinceMs).toISOString() }
}

/** In one line, for people. */
export function keyText(key: Row): string {
  return Object.entries(key)
    .map(([column, value]) => `${column}=${value}`)
    .join(', ')
}
