import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import type { TypedColumn } from '../../catalog/source.ts'
import { closestPath } from '../../sql/warnings/closest-path.ts'
import { metadataJson } from '../seen-paths.ts'
import { type BoundValues, conditionSql, present } from './condition-sql.ts'
import type { FieldNode } from './parse-query.ts'
import { type FieldCondition, failingTests, positiveTests, type SearchCondition } from './search-condition.ts'

/** All entries of a time range, with or without a match. */
interface SearchedRange {
  table: string
  /** Of a WHERE clause. */
  sql: string
  parameters: BoundValues
  project: string | undefined
  columns: readonly TypedColumn[]
}

type RunRows = <Row>(sql: string, parameters: BoundValues) => Promise<Row[]>

const maxTests = 10
const sampledEntries = 1_000
const maxPaths = 5_000
const maxValues = 100
const maxShown = 100
/** Names and values come from entries: longer ones, and those with line breaks, could pass for sentences of the service. */
const shownPath = /^[^\s\p{C}]{1,100}$/u
const shownValue = /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u
const comparedWord = /^([\p{L}_@$][^\s"()=<>!:]{0,50})(=|>=|<=|>|<)([^\s"()=<>]{1,50})$/u

/** Says why a search finds nothing. */
export async function searchNotes(
  range: SearchedRange,
  condition: SearchCondition | undefined,
  rows: RunRows,
): Promise<string[]> {
  const tests = condition ? [...positiveTests(condition)].slice(0, maxTests) : []
  const parameters = { ...range.parameters }
  const counts = tests.flatMap((test, index) => [
    `countIf(${conditionSql(test, parameters)}) AS matching${index}`,
    `countIf(${conditionSql({ ...test, test: { is: 'exists' } }, parameters)}) AS existing${index}`,
  ])
  const [count = {}] = await rows<Record<string, number>>(
    `SELECT ${['count() AS entries', ...counts].join(', ')} FROM ${range.table} WHERE ${range.sql}`,
    parameters,
  )
  if (count.entries === 0) return [await emptyRange(range, rows)]
  if (!condition) return []
  const unmatched = failingTests(condition, (test) => count[`matching${tests.indexOf(test)}`] !== 0)
  if (unmatched.length === 0) {
    return [
      tests.length === 0
        ? 'The query excludes every entry in this time range.'
        : 'Each condition matches entries alone, but no entry matches all of them.',
    ]
  }
  const missing = unmatched.filter((test) => count[`existing${tests.indexOf(test)}`] === 0)
  const [paths, values] = await Promise.all([
    missing.length > 0 ? pathsOf(range, rows) : [],
    valuesOf(
      range,
      unmatched.filter((test) => !missing.includes(test)),
      rows,
    ),
  ])
  const notes = unmatched.map((test) =>
    missing.includes(test) ? missingField(test, range.columns, paths) : noMatch(test, values.get(test) ?? []),
  )
  // A UUID is searched in several columns.
  return [...new Set(notes)]
}

async function emptyRange(range: SearchedRange, rows: RunRows): Promise<string> {
  const { table, project, parameters } = range
  const which = project === undefined ? '' : 'WHERE project = {project:String}'
  const [newest] = await rows<{ at: number }>(
    `SELECT toUnixTimestamp64Micro(timestamp) AS at FROM ${table} ${which} ORDER BY timestamp DESC LIMIT 1`,
    project === undefined ? {} : { project: parameters.project ?? project },
  )
  if (newest === undefined) {
    return `The source has no entries${project === undefined ? '' : ` of project "${project}"`}.`
  }
  const at = new Date(Math.floor(newest.at / 1000)).toISOString()
  return `There are no entries in this time range. The newest entry is from ${at}.`
}

function missingField(
  { named }: FieldCondition,
  columns: readonly TypedColumn[],
  paths: readonly string[],
): string {
  const name = named?.name ?? 'event_message'
  const short = new Map(
    columns.flatMap(({ name: column, path }) =>
      [column, path, path.slice(path.lastIndexOf('.') + 1), column.split('_')[0] as string].map((key) => [
        key,
        column,
      ]),
    ),
  )
  const shown = paths.filter((path) => shownPath.test(path))
  const meant = closestPath(name, shown) ?? short.get(closestName(name, short.keys()) ?? '')
  return `No entry in this time range has the field "${name}".${didYouMean(meant && `"${meant}"`)}`
}

function noMatch({ named, test }: FieldCondition, values: readonly string[]): string {
  const typed = 'value' in test ? test.value : ''
  const condition = named?.text ?? `"${typed}"`
  const shown = condition.length > maxShown ? `${condition.slice(0, maxShown)}…` : condition
  return `No entry in this time range matches ${shown}.${hintOf(typed, named, values)}`
}

function hintOf(typed: string, named: FieldNode | undefined, values: readonly string[]): string {
  // Many languages write status=500.
  const [, field, sign, value] = (!named && comparedWord.exec(typed)) || []
  if (field !== undefined) return ` To compare a field, write ${field}:${sign === '=' ? '' : sign}${value}.`
  if (named && !named.text.endsWith('"') && values.some((one) => one.startsWith(typed)))
    return ` To match the beginning of values, write ${named.text}*.`
  const shown = values.filter((value) => shownValue.test(value))
  const meant = closestName(typed, shown)
  return didYouMean(meant && `"${meant}"`)
}

/** The paths of metadata in some of the newest entries. */
async function pathsOf({ table, sql, parameters }: SearchedRange, rows: RunRows): Promise<string[]> {
  const found = await rows<{ path: string }>(
    `SELECT DISTINCT arrayJoin(JSONAllPaths(${metadataJson})) AS path FROM ` +
      `(SELECT metadata FROM ${table} WHERE ${sql} ORDER BY timestamp DESC LIMIT ${sampledEntries}) LIMIT ${maxPaths}`,
    parameters,
  )
  return found.map(({ path }) => path)
}

/** Frequent values of the fields that are compared with a text. */
async function valuesOf({ table, sql, parameters }: SearchedRange, tests: FieldCondition[], rows: RunRows) {
  const compared = tests.filter(({ test, named }) => named !== undefined && test.is === 'eq')
  if (compared.length === 0) return new Map<FieldCondition, string[]>()
  const tops = compared.map(({ field }, index) => `topK(${maxValues})(${present(field)}) AS values${index}`)
  const [found = {}] = await rows<Record<string, string[]>>(
    `SELECT ${tops.join(', ')} FROM ${table} WHERE ${sql}`,
    parameters,
  )
  return new Map(compared.map((test, index) => [test, found[`values${index}`]?.filter(Boolean) ?? []]))
}
