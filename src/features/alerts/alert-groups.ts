import { hash } from 'node:crypto'
import { invalidParameter } from '../../core/base/errors.ts'
import type { SavedAlert, StateName } from './alert.ts'
import { type AlertState, enter, evaluate, newProgress, type Progress } from './alert-state.ts'
import { type Decision, decide, type ResultRows, type Row } from './condition.ts'

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
  const knownGroups = new Map(known.map((group) => [group.id, group]))
  const present = [...split(result.rows, definition.by)].map(([text, indices]): Candidate => {
    const id = hash('sha256', `${alert.id} ${text}`, 'base64url').slice(0, 22)
    const group = knownGroups.get(id)
    knownGroups.delete(id)
    const decision = decide(condition, result, indices)
    return { id, group, firstRow: indices[0] as number, decision, rank: rankOf(group, decision) }
  })
  for (const group of knownGroups.values()) group.missingMs ??= nowMs
  const isExpired = ({ missingMs }: GroupState) => nowMs - (missingMs ?? nowMs) >= keepMissingMs
  const missing = [...knownGroups.values()]
    // Receivers that know of it are notified before it is forgotten.
    .filter((group) => !isExpired(group) || group.told !== 'ok')
    .map((group): Candidate => ({ id: group.id, group, rank: rankOf(group) }))
  const kept = present.concat(missing).toSorted((one, other) => other.rank - one.rank)
  const evaluatedIds = new Set(kept.slice(0, maxGroups).map(({ id }) => id))
  const groups: GroupState[] = []
  const changed: GroupState[] = []
  const add = (group: GroupState, before: StateName) => {
    groups.push(group)
    if (group.state !== before) changed.push(group)
  }
  for (const { id, group: former, firstRow = 0, decision } of present) {
    if (!decision || !evaluatedIds.has(id)) continue
    const key = keyOf(result.rows[firstRow] as Row, definition.by)
    const group = former ?? { id, key, ...newProgress(nowMs), missingMs: null }
    const before = group.state
    evaluate(group, definition, decision, nowMs)
    group.missingMs = null
    add(group, before)
  }
  for (const { id, group } of missing) {
    if (!group || !evaluatedIds.has(id)) continue
    const before = group.state
    if (isExpired(group)) resolve(group, nowMs)
    add(group, before)
  }
  const groupsLeftOut = present.filter(({ id }) => !evaluatedIds.has(id)).length
  return { groups, changed, groupsLeftOut }
}

/** A group of the result, or one that has a state and no rows. */
interface Candidate {
  id: string
  group: GroupState | undefined
  firstRow?: number
  decision?: Decision
  rank: number
}

/**
 * The order in which groups get one of the places. A group that fires, or that receivers know of, keeps its place even without
 * rows, so that new keys in each result do not displace it.
 */
function rankOf(group: GroupState | undefined, decision?: Decision): number {
  if (group && (group.state === 'firing' || group.told !== 'ok')) return 4
  if (decision?.met) return group?.state === 'pending' ? 3 : 2
  return group && decision ? 1 : 0
}

/** The indices of the rows of each group. */
function split(rows: readonly Row[], by: readonly string[]): Map<string, number[]> {
  const indicesByKey = new Map<string, number[]>()
  for (const [index, row] of rows.entries()) {
    const text = JSON.stringify(by.map((column) => valueIn(row, column)))
    const indices = indicesByKey.get(text)
    if (indices) indices.push(index)
    else indicesByKey.set(text, [index])
  }
  return indicesByKey
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

const maxGroupEvents = 100

/** The changes of one evaluation that are recorded one by one, those of groups that fire or did so first. */
export function recordedChanges(changed: readonly GroupState[]): GroupState[] {
  const weight = ({ state, previous }: GroupState) => Number(state === 'firing' || previous === 'firing')
  return changed.toSorted((one, other) => weight(other) - weight(one)).slice(0, maxGroupEvents)
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
    .map(([column, value]) => `${column}=${value === '' ? '(empty)' : value}`)
    .join(', ')
}
