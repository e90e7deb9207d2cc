import { hash } from 'node:crypto'
import { invalidParameter } from '../base/errors.ts'
import type { SavedAlert, StateName } from './alert.ts'
import { type AlertState, enter, evaluate, newProgress, type Progress } from './alert-state.ts'
import { decide, type ResultRows, type Row } from './condition.ts'

const maxGroups = 1_000
/** Of each value of a key that is shown. */
const maxValueLength = 200

export interface GroupState extends Progress {
  /** Stable for the alert and the key. */
  readonly id: string
  readonly key: Row
  /** Since when the group has no rows. Null: it has some. */
  missingMs: number | null
}

/** What an evaluation makes of the groups, which it changes. Throws before that if the result lacks a column. */
export function evaluateGroups(
  alert: SavedAlert,
  known: readonly GroupState[],
  result: ResultRows,
  nowMs: number,
) {
  const { condition, definition, keepMissingMs } = alert
  const { found, leftOut } = split(result.rows, definition.by)
  const missing = new Map(known.map((group) => [group.id, group]))
  const groups: GroupState[] = []
  const changed: GroupState[] = []
  const add = (group: GroupState, before: StateName) => {
    groups.push(group)
    if (group.state !== before) changed.push(group)
  }
  for (const [text, indices] of found) {
    const decision = decide(condition, result, indices)
    const id = hash('sha256', `${alert.id} ${text}`, 'base64url').slice(0, 22)
    const key = keyOf(result.rows[indices[0] as number] as Row, definition.by)
    const group = missing.get(id) ?? { id, key, ...newProgress(nowMs), missingMs: null }
    missing.delete(id)
    const before = group.state
    evaluate(group, definition, decision, nowMs)
    group.missingMs = null
    add(group, before)
  }
  const room = maxGroups - groups.length
  for (const [index, group] of [...missing.values()]
    .sort((one, other) => rank(other) - rank(one))
    .entries()) {
    const before = group.state
    group.missingMs ??= nowMs
    const isKept = index < room && nowMs - group.missingMs < keepMissingMs
    if (!isKept) resolve(group, nowMs)
    // Receivers that know of it are notified first.
    if (isKept || group.told !== 'ok') add(group, before)
  }
  return { groups, changed, groupsLeftOut: leftOut }
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

/** The condition of the group is not met any more. */
export function resolve(group: GroupState, nowMs: number): void {
  enter(group, 'ok', nowMs)
  group.value = null
  group.heldMs = null
}

function rank({ state, told }: GroupState): number {
  return (state === 'firing' ? 4 : 0) + (told === 'ok' ? 0 : 2) + (state === 'pending' ? 1 : 0)
}

/** The state of an alert by group is the most severe of its groups. Its value is the number of groups that fire. */
export function evaluateWhole(state: AlertState, groups: readonly GroupState[], nowMs: number): void {
  const states = new Set<StateName>(groups.map((group) => group.state))
  enter(state, states.has('firing') ? 'firing' : states.has('pending') ? 'pending' : 'ok', nowMs)
  const value = groups.filter((group) => group.state === 'firing').length
  Object.assign(state, { groups, evaluatedMs: nowMs, value, error: null, failures: 0, heldMs: null })
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
