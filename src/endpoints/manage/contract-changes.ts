import { breakingChange } from '../../base/errors.ts'
import { leadingWith } from '../../sql/with.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import {
  declarationOf,
  type ParameterDeclaration,
  type ParameterDeclarations,
  type ParameterTypeName,
} from '../definition/parameter-declaration.ts'
import { bindQuery } from '../definition/parameters.ts'
import { isJsonColumn, type ResultColumn } from '../definition/result-columns.ts'

export const changeKinds = [
  ...['endpoint_renamed', 'description_changed', 'chart_changed', 'query_changed'],
  ...['parameter_added', 'parameter_removed', 'parameter_required', 'parameter_optional'],
  ...['parameter_default_changed', 'parameter_type_changed', 'parameter_values_added'],
  ...['parameter_values_removed', 'parameter_empty_changed', 'parameter_description_changed'],
  ...['column_added', 'column_removed', 'column_renamed', 'column_type_changed', 'columns_reordered'],
  ...['max_rows_raised', 'max_rows_lowered'],
  ...['sandbox_on', 'sandbox_off', 'sandbox_view_added', 'sandbox_view_removed'],
  ...['strict_on', 'strict_off', 'published', 'unpublished', 'cache_changed', 'timeout_changed'],
] as const

export type ChangeKind = (typeof changeKinds)[number]

/** A change that callers of an endpoint can notice, and whether it can break their code. */
export interface ContractChange {
  kind: ChangeKind
  breaking: boolean
  /** A sentence for people. */
  message: string
  parameter?: string
  column?: string
}

/** What callers of an endpoint rely on. */
interface Contract {
  definition: EndpointDefinition
  columns: readonly ResultColumn[]
}

type Subject = Pick<ContractChange, 'parameter' | 'column'>

/**
 * How a new version of an endpoint affects its callers. A change is breaking if a request that worked is refused or
 * means something else, or if rows lack something they had. Freshness and speed never break callers.
 */
export function contractChanges(before: Contract, after: Contract): ContractChange[] {
  const changes: ContractChange[] = []
  const add = (kind: ChangeKind, effect: Effect, message: string, subject: Subject = {}) => {
    changes.push({ kind, breaking: effect === 'breaking', message, ...subject })
  }
  const [was, is] = [before.definition, after.definition]
  if (was.name !== is.name) {
    const message = `The endpoint was renamed to ${is.name}; requests to ${was.name} fail, requests by id still work. Tokens with the scope query:${was.name} need query:${is.name}.`
    add('endpoint_renamed', 'breaking', message)
  }
  addParameterChanges(was, is, add)
  addColumnChanges(outwardColumns(before), outwardColumns(after), add)
  if (was.max_rows !== is.max_rows) {
    const message = `The maximum number of rows changed from ${was.max_rows} to ${is.max_rows}.`
    if (is.max_rows < was.max_rows) add('max_rows_lowered', 'breaking', message)
    else add('max_rows_raised', 'compatible', message)
  }
  addSandboxChanges(was, is, add)
  if (!was.strict && is.strict)
    add('strict_on', 'breaking', 'Requests with unknown parameters are now refused.')
  if (was.strict && !is.strict) {
    add('strict_off', 'compatible', 'Unknown parameters in requests are now ignored.')
  }
  if (was.published && !is.published) {
    add('unpublished', 'breaking', 'Tokens with a project can no longer call the endpoint.')
  }
  if (!was.published && is.published) {
    add('published', 'compatible', 'Tokens with a project can now call the endpoint.')
  }
  if (was.query !== is.query) add('query_changed', 'compatible', 'The SQL changed; values may differ.')
  if (was.cache_seconds !== is.cache_seconds) {
    const message = `Results were ${cached(was.cache_seconds)} and are now ${cached(is.cache_seconds)}.`
    add('cache_changed', 'compatible', message)
  }
  if (refreshOf(was) !== refreshOf(is)) {
    add('cache_changed', 'compatible', 'The way cached results are refreshed changed.')
  }
  if (was.timeout_seconds !== is.timeout_seconds) {
    const message = `The time limit changed from ${was.timeout_seconds} s to ${is.timeout_seconds} s.`
    add('timeout_changed', 'compatible', message)
  }
  if (was.description !== is.description) {
    add('description_changed', 'compatible', 'The description of the endpoint changed.')
  }
  if (JSON.stringify(was.chart) !== JSON.stringify(is.chart)) {
    add('chart_changed', 'compatible', 'The chart of the endpoint changed.')
  }
  return changes
}

interface ChangedContract {
  /** Name of the endpoint. */
  name: string
  changes: readonly ContractChange[]
}

/** Throws if a change breaks callers. The remedy follows "… would break callers, so". */
export function refuseBreaking(changed: readonly ChangedContract[], remedy: string): void {
  const found = changed.flatMap(({ name, changes }) =>
    changes.filter(({ breaking }) => breaking).map((change) => ({ endpoint: name, ...change })),
  )
  if (found.length > 0) throw breakingChange(found, remedy)
}

type Effect = 'breaking' | 'compatible'
type Add = (kind: ChangeKind, effect: Effect, message: string, subject?: Subject) => void

function cached(seconds: number | null): string {
  return seconds === null ? 'not cached' : `cached for ${seconds} s`
}

function refreshOf({ warm_seconds, incremental }: EndpointDefinition): string {
  return JSON.stringify([warm_seconds, incremental])
}

function addSandboxChanges(was: EndpointDefinition, is: EndpointDefinition, add: Add): void {
  if (was.sandbox && !is.sandbox) add('sandbox_off', 'breaking', 'Callers can no longer send their own SQL.')
  if (!was.sandbox && is.sandbox) {
    add('sandbox_on', 'compatible', 'Callers can now send their own SQL over the views of the query.')
  }
  if (!was.sandbox || !is.sandbox) return
  const [then, now] = [was, is].map(({ query }) => leadingWith(query)?.names ?? []) as [string[], string[]]
  for (const view of without(then, now)) {
    add('sandbox_view_removed', 'breaking', `View ${view} was removed from the sandbox.`)
  }
  for (const view of without(now, then)) {
    add('sandbox_view_added', 'compatible', `View ${view} was added to the sandbox.`)
  }
}

function without(all: readonly string[], others: readonly string[]): string[] {
  return all.filter((one) => !others.includes(one))
}

/** Types that accept every value of the type. Text accepts any value. */
const widerTypes: Record<ParameterTypeName, readonly ParameterTypeName[]> = {
  string: [],
  integer: ['number', 'string'],
  number: ['string'],
  boolean: ['string'],
  timestamp: ['string'],
  regex: ['string'],
}

function addParameterChanges(before: EndpointDefinition, after: EndpointDefinition, add: Add): void {
  const [was, is] = [parametersOf(before), parametersOf(after)]
  for (const parameter of without(Object.keys(was), Object.keys(is))) {
    const effect = after.strict
      ? 'requests that send it are refused'
      : 'it is ignored in requests that send it'
    const message = `Parameter ${parameter} was removed; ${effect}.`
    add('parameter_removed', 'breaking', message, { parameter })
  }
  for (const [parameter, now] of Object.entries(is)) {
    const then = Object.hasOwn(was, parameter) ? was[parameter] : undefined
    if (then) addChangesOf(parameter, then, now, add)
    else if (now.required) {
      add('parameter_required', 'breaking', `Required parameter ${parameter} was added.`, { parameter })
    } else add('parameter_added', 'compatible', `Optional parameter ${parameter} was added.`, { parameter })
  }
}

/** Declared parameters, and those that only the SQL names. */
function parametersOf({ query, parameters }: EndpointDefinition): ParameterDeclarations {
  const names = [...Object.keys(parameters), ...bindQuery(query, parameters).names]
  return Object.fromEntries(names.map((name) => [name, declarationOf(parameters, name)]))
}

function addChangesOf(
  parameter: string,
  was: ParameterDeclaration,
  is: ParameterDeclaration,
  addChange: Add,
): void {
  const add = (kind: ChangeKind, effect: Effect, message: string) =>
    addChange(kind, effect, message, { parameter })
  const shown = (value: string | undefined) => (value === undefined ? 'null' : JSON.stringify(value))
  if (!was.required && is.required) {
    add('parameter_required', 'breaking', `Parameter ${parameter} is now required.`)
  } else if (was.required && !is.required) {
    add('parameter_optional', 'compatible', `Parameter ${parameter} is now optional.`)
  } else if (was.default !== is.default) {
    const message = `The default of parameter ${parameter} changed from ${shown(was.default)} to ${shown(is.default)}.`
    add('parameter_default_changed', 'breaking', message)
  }
  if (was.type !== is.type) {
    const message = `The type of parameter ${parameter} changed from ${was.type} to ${is.type}`
    if (widerTypes[was.type].includes(is.type)) {
      add('parameter_type_changed', 'compatible', `${message}; all previous values are still accepted.`)
    } else add('parameter_type_changed', 'breaking', `${message}; some values are no longer accepted.`)
  }
  if (was.enum && !is.enum) {
    add('parameter_values_added', 'compatible', `Parameter ${parameter} now accepts any value.`)
  } else if (is.enum) {
    const [removed, added] = [without(was.enum ?? [], is.enum), without(is.enum, was.enum ?? is.enum)]
    const only = was.enum ? undefined : `now accepts only ${is.enum.join(', ')}`
    const fewer = only ?? (removed.length > 0 ? `no longer accepts ${removed.join(', ')}` : undefined)
    if (fewer) add('parameter_values_removed', 'breaking', `Parameter ${parameter} ${fewer}.`)
    if (added.length > 0) {
      const message = `Parameter ${parameter} now also accepts ${added.join(', ')}.`
      add('parameter_values_added', 'compatible', message)
    }
  }
  if (was.empty_is_omitted !== is.empty_is_omitted) {
    const meaning = is.empty_is_omitted ? 'is now treated as omitted' : 'is no longer treated as omitted'
    add('parameter_empty_changed', 'breaking', `An empty value of parameter ${parameter} ${meaning}.`)
  }
  if (was.description !== is.description || was.example !== is.example) {
    add('parameter_description_changed', 'compatible', `The description of parameter ${parameter} changed.`)
  }
}

/** A text column that is returned as JSON has another type for its readers. */
function outwardColumns({ columns, definition }: Contract): ResultColumn[] {
  return columns.map((column) =>
    isJsonColumn(column, definition.json) ? { ...column, type: 'JSON' } : column,
  )
}

function addColumnChanges(before: readonly ResultColumn[], after: readonly ResultColumn[], add: Add): void {
  const was = new Map(before.map(({ name, type }) => [name, type]))
  const is = new Map(after.map(({ name, type }) => [name, type]))
  const newNames = new Set<string>()
  for (const [index, { name: column, type }] of before.entries()) {
    if (is.has(column)) continue
    const now = after[index]
    if (now && now.type === type && !was.has(now.name)) {
      newNames.add(now.name)
      add('column_renamed', 'breaking', `Column ${column} was renamed to ${now.name}.`, { column })
    } else add('column_removed', 'breaking', `Column ${column} was removed.`, { column })
  }
  for (const { name, type } of before) addTypeChange(name, type, is.get(name) ?? type, add)
  for (const { name: column, type } of after) {
    if (was.has(column) || newNames.has(column)) continue
    add('column_added', 'compatible', `Column ${column} (${type}) was added.`, { column })
  }
  const places = [...is.keys()]
  const kept = before.flatMap(({ name }) => (is.has(name) ? places.indexOf(name) : []))
  // Every format names its columns, so callers do not rely on positions.
  if (kept.some((place, index) => place < (kept[index - 1] ?? -1))) {
    const message = 'The columns are in another order; only code that reads CSV by position is affected.'
    add('columns_reordered', 'compatible', message)
  }
}

function addTypeChange(column: string, was: string, is: string, add: Add): void {
  if (was === is) return
  const [then, now] = [outwardForm(was), outwardForm(is)]
  const message = `The type of column ${column} changed from ${was} to ${is}`
  if (now.isNullable && !then.isNullable) {
    add('column_type_changed', 'breaking', `${message}; it can now be null.`, { column })
  } else if (now.form === then.form || (now.form === 'integer' && then.form === 'number')) {
    add('column_type_changed', 'compatible', `${message}; it looks the same in JSON and CSV.`, { column })
  } else add('column_type_changed', 'breaking', `${message}; it looks different in JSON and CSV.`, { column })
}

/** What a value of a type looks like in JSON and CSV. Other types are forms of their own. */
const forms: readonly (readonly [RegExp, string])[] = [
  [/^U?Int(?:8|16|32|64|128|256)$/, 'integer'],
  [/^(?:BFloat|Float|Decimal)/, 'number'],
  [/^(?:String|FixedString|Enum|UUID|IPv)/, 'text'],
  [/^DateTime64\b/, 'instant'],
  [/^DateTime\b/, 'moment'],
  [/^Date/, 'day'],
]

function outwardForm(type: string): { form: string; isNullable: boolean } {
  const plain = type.replace(/^LowCardinality\((.*)\)$/, '$1')
  const bare = plain.replace(/^Nullable\((.*)\)$/, '$1')
  const isNullable = bare !== plain || /^(?:Nothing|Dynamic|Variant)\b/.test(bare)
  return { form: forms.find(([pattern]) => pattern.test(bare))?.[1] ?? bare, isNullable }
}
