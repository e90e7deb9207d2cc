import { leadingWith } from '../../sql/with.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import {
  declarationOf,
  type ParameterDeclaration,
  type ParameterDeclarations,
} from '../definition/parameter-declaration.ts'
import { bindQuery } from '../definition/parameters.ts'
import { isJsonColumn, type ResultColumn } from '../definition/result-columns.ts'

export const changeKinds = [
  ...['endpoint_renamed', 'description_changed', 'chart_changed', 'query_changed'],
  ...['parameter_added', 'parameter_removed', 'parameter_required', 'parameter_optional'],
  ...['parameter_default_changed', 'parameter_type_changed', 'parameter_values_added'],
  ...['parameter_values_removed', 'parameter_empty_changed', 'parameter_description_changed'],
  ...['column_added', 'column_removed', 'column_renamed', 'column_type_changed', 'columns_reordered'],
  'timestamps_changed',
  ...['max_rows_raised', 'max_rows_lowered'],
  ...['sandbox_on', 'sandbox_off', 'sandbox_view_added', 'sandbox_view_removed'],
  ...['strict_on', 'strict_off', 'published', 'unpublished', 'cache_changed', 'timeout_changed'],
  'dashboards_affected',
] as const

export type ChangeKind = (typeof changeKinds)[number]

/** A change that callers of an endpoint can notice, and whether it can break their code. */
export interface ContractChange {
  kind: ChangeKind
  breaking: boolean
  message: string
  parameter?: string
  column?: string
}

interface Contract {
  definition: EndpointDefinition
  columns: readonly ResultColumn[]
}

type Effect = 'breaking' | 'compatible'

type Add = (
  isChange: boolean | undefined,
  kind: ChangeKind,
  effect: Effect,
  message: string,
  subject?: Pick<ContractChange, 'parameter' | 'column'>,
) => void

/** A change is breaking if a request that worked is refused or means something else, or if rows lack something they had. */
export function contractChanges(before: Contract, after: Contract): ContractChange[] {
  const changes: ContractChange[] = []
  const add: Add = (isChange, kind, effect, message, subject) => {
    if (isChange) changes.push({ kind, breaking: effect === 'breaking', message, ...subject })
  }
  const [was, is] = [before.definition, after.definition]
  const renamed = `The endpoint was renamed to ${is.name}; requests to ${was.name} fail, requests by id still work. Tokens with the scope query:${was.name} need query:${is.name}.`
  add(was.name !== is.name, 'endpoint_renamed', 'breaking', renamed)
  addParameterChanges(was, is, add)
  addColumnChanges(outputColumns(before), outputColumns(after), add)
  const shown = `Timestamps were in the form ${was.timestamps} and are now in the form ${is.timestamps}.`
  const hasTimes = after.columns.some(({ type }) => type.includes('DateTime'))
  add(was.timestamps !== is.timestamps, 'timestamps_changed', hasTimes ? 'breaking' : 'compatible', shown)
  const rows = `The maximum number of rows changed from ${was.max_rows} to ${is.max_rows}.`
  add(is.max_rows < was.max_rows, 'max_rows_lowered', 'breaking', rows)
  add(is.max_rows > was.max_rows, 'max_rows_raised', 'compatible', rows)
  addSandboxChanges(was, is, add)
  const refused = 'Requests with unknown parameters are now refused.'
  add(!was.strict && is.strict, 'strict_on', 'breaking', refused)
  const ignored = 'Unknown parameters in requests are now ignored.'
  add(was.strict && !is.strict, 'strict_off', 'compatible', ignored)
  const hidden = 'Tokens with a project can no longer call the endpoint.'
  add(was.published && !is.published, 'unpublished', 'breaking', hidden)
  const visible = 'Tokens with a project can now call the endpoint.'
  add(!was.published && is.published, 'published', 'compatible', visible)
  add(was.query !== is.query, 'query_changed', 'compatible', 'The SQL changed; values may differ.')
  const kept = `Results were ${cached(was.cache_seconds)} and are now ${cached(is.cache_seconds)}.`
  add(was.cache_seconds !== is.cache_seconds, 'cache_changed', 'compatible', kept)
  const refreshed = 'The way cached results are refreshed changed.'
  const isNewSpan = JSON.stringify(was.incremental) !== JSON.stringify(is.incremental)
  add(was.warm_seconds !== is.warm_seconds || isNewSpan, 'cache_changed', 'compatible', refreshed)
  const limit = `The time limit changed from ${was.timeout_seconds} s to ${is.timeout_seconds} s.`
  add(was.timeout_seconds !== is.timeout_seconds, 'timeout_changed', 'compatible', limit)
  const described = 'The description of the endpoint changed.'
  add(was.description !== is.description, 'description_changed', 'compatible', described)
  const isNewChart = JSON.stringify(was.chart) !== JSON.stringify(is.chart)
  add(isNewChart, 'chart_changed', 'compatible', 'The chart of the endpoint changed.')
  return changes
}

function cached(seconds: number | null): string {
  return seconds === null ? 'not cached' : `cached for ${seconds} s`
}

function addSandboxChanges(was: EndpointDefinition, is: EndpointDefinition, add: Add): void {
  const off = 'Callers can no longer send their own SQL.'
  add(was.sandbox && !is.sandbox, 'sandbox_off', 'breaking', off)
  const on = 'Callers can now send their own SQL over the views of the query.'
  add(!was.sandbox && is.sandbox, 'sandbox_on', 'compatible', on)
  const isStill = was.sandbox && is.sandbox
  const [then, now] = [was, is].map(({ query }) => leadingWith(query)?.names ?? []) as [string[], string[]]
  for (const view of without(then, now)) {
    add(isStill, 'sandbox_view_removed', 'breaking', `View ${view} was removed from the sandbox.`)
  }
  for (const view of without(now, then)) {
    add(isStill, 'sandbox_view_added', 'compatible', `View ${view} was added to the sandbox.`)
  }
}

function without(all: readonly string[], others: readonly string[]): string[] {
  return all.filter((one) => !others.includes(one))
}

function addParameterChanges(before: EndpointDefinition, after: EndpointDefinition, add: Add): void {
  const [was, is] = [parametersOf(before), parametersOf(after)]
  const sent = after.strict ? 'requests that send it are refused' : 'it is ignored in requests that send it'
  for (const parameter of without(Object.keys(was), Object.keys(is))) {
    const message = `Parameter ${parameter} was removed; ${sent}.`
    add(true, 'parameter_removed', 'breaking', message, { parameter })
  }
  for (const [parameter, now] of Object.entries(is)) {
    const then = Object.hasOwn(was, parameter) ? was[parameter] : undefined
    if (then) addChangesOf(parameter, then, now, add)
    else if (now.required) {
      add(true, 'parameter_required', 'breaking', `Required parameter ${parameter} was added.`, { parameter })
    } else
      add(true, 'parameter_added', 'compatible', `Optional parameter ${parameter} was added.`, { parameter })
  }
}

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
  const add: Add = (isChange, kind, effect, message) =>
    addChange(isChange, kind, effect, message, { parameter })
  const shown = (value: string | undefined) => (value === undefined ? 'null' : JSON.stringify(value))
  const required = `Parameter ${parameter} is now required.`
  add(!was.required && is.required, 'parameter_required', 'breaking', required)
  const optional = `Parameter ${parameter} is now optional.`
  add(was.required && !is.required, 'parameter_optional', 'compatible', optional)
  const preset = `The default of parameter ${parameter} changed from ${shown(was.default)} to ${shown(is.default)}.`
  const isOtherDefault = was.required === is.required && was.default !== is.default
  add(isOtherDefault, 'parameter_default_changed', 'breaking', preset)
  const retyped = `The type of parameter ${parameter} changed from ${was.type} to ${is.type}`
  // Text accepts any value.
  const isWider = is.type === 'string' || (was.type === 'integer' && is.type === 'number')
  const [effect, outcome] = isWider
    ? (['compatible', 'all previous values are still accepted'] as const)
    : (['breaking', 'some values are no longer accepted'] as const)
  add(was.type !== is.type, 'parameter_type_changed', effect, `${retyped}; ${outcome}.`)
  const unlimited = `Parameter ${parameter} now accepts any value.`
  add(was.enum && !is.enum, 'parameter_values_added', 'compatible', unlimited)
  if (is.enum) {
    const [removed, added] = [without(was.enum ?? [], is.enum), without(is.enum, was.enum ?? is.enum)]
    const fewer = was.enum
      ? `no longer accepts ${removed.join(', ')}`
      : `now accepts only ${is.enum.join(', ')}`
    const isFewer = !was.enum || removed.length > 0
    add(isFewer, 'parameter_values_removed', 'breaking', `Parameter ${parameter} ${fewer}.`)
    const more = `Parameter ${parameter} now also accepts ${added.join(', ')}.`
    add(added.length > 0, 'parameter_values_added', 'compatible', more)
  }
  const meaning = is.empty_is_omitted ? 'is now treated as omitted' : 'is no longer treated as omitted'
  const empty = `An empty value of parameter ${parameter} ${meaning}.`
  add(was.empty_is_omitted !== is.empty_is_omitted, 'parameter_empty_changed', 'breaking', empty)
  const isOtherText = was.description !== is.description || was.example !== is.example
  const described = `The description of parameter ${parameter} changed.`
  add(isOtherText, 'parameter_description_changed', 'compatible', described)
}

/** A text column that is returned as JSON has another type for its readers. */
function outputColumns({ columns, definition }: Contract): ResultColumn[] {
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
      add(true, 'column_renamed', 'breaking', `Column ${column} was renamed to ${now.name}.`, { column })
    } else add(true, 'column_removed', 'breaking', `Column ${column} was removed.`, { column })
  }
  for (const { name, type } of before) addTypeChange(name, type, is.get(name) ?? type, add)
  for (const { name: column, type } of after) {
    const isNew = !was.has(column) && !newNames.has(column)
    add(isNew, 'column_added', 'compatible', `Column ${column} (${type}) was added.`, { column })
  }
  const places = [...is.keys()]
  const kept = before.flatMap(({ name }) => (is.has(name) ? places.indexOf(name) : []))
  const isReordered = kept.some((place, index) => place < (kept[index - 1] ?? -1))
  // Every format names its columns, so callers do not rely on positions.
  const message = 'The columns are in another order; only code that reads CSV by position is affected.'
  add(isReordered, 'columns_reordered', 'compatible', message)
}

function addTypeChange(column: string, was: string, is: string, add: Add): void {
  const [then, now] = [outputForm(was), outputForm(is)]
  const isAlike = now.form === then.form || (now.form === 'integer' && then.form === 'number')
  const [effect, outcome] =
    now.isNullable && !then.isNullable
      ? (['breaking', 'it can now be null'] as const)
      : isAlike
        ? (['compatible', 'it looks the same in JSON and CSV'] as const)
        : (['breaking', 'it looks different in JSON and CSV'] as const)
  const message = `The type of column ${column} changed from ${was} to ${is}; ${outcome}.`
  add(was !== is, 'column_type_changed', effect, message, { column })
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

function outputForm(type: string): { form: string; isNullable: boolean } {
  const plain = type.replace(/^LowCardinality\((.*)\)$/, '$1')
  const bare = plain.replace(/^Nullable\((.*)\)$/, '$1')
  const isNullable = bare !== plain || /^(?:Nothing|Dynamic|Variant)\b/.test(bare)
  return { form: forms.find(([pattern]) => pattern.test(bare))?.[1] ?? bare, isNullable }
}
