import type { DefinitionChange } from '../../definitions/kind.ts'
import { queryOf } from '../../sql/query.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import { type Endpoint, sandboxViews } from '../definition/endpoint.ts'
import {
  accepts,
  allDeclarations,
  type ParameterDeclaration,
  typeText,
} from '../definition/parameter-declaration.ts'
import { isJsonColumn, type ResultColumn } from '../definition/result-columns.ts'

const breakingKinds = [
  'endpoint_renamed',
  'parameter_removed',
  'parameter_required',
  'parameter_default_changed',
  'parameter_values_removed',
  'parameter_empty_changed',
  'column_removed',
  'column_renamed',
  'max_rows_lowered',
  'sandbox_off',
  'sandbox_view_removed',
  'strict_on',
  'unpublished',
] as const

/** Kinds of changes of an endpoint. Beside them, those that break others have `<folder of the others>_affected`. */
export const changeKinds = [
  ...breakingKinds,
  // These three can break callers.
  'parameter_type_changed',
  'column_type_changed',
  'timestamps_changed',
  'description_changed',
  'chart_changed',
  'query_changed',
  'parameter_added',
  'parameter_optional',
  'parameter_values_added',
  'parameter_description_changed',
  'column_added',
  'columns_reordered',
  'max_rows_raised',
  'sandbox_on',
  'sandbox_view_added',
  'strict_off',
  'published',
  'cache_changed',
  'timeout_changed',
] as const

export interface ContractChange extends DefinitionChange {
  kind: (typeof changeKinds)[number]
}

type Contract = Pick<Endpoint, 'definition' | 'columns'>

type Add = (
  kind: ContractChange['kind'],
  message: string,
  more?: Partial<Pick<ContractChange, 'breaking' | 'parameter' | 'column'>>,
) => void

/** A change is breaking if a request that worked is refused or means something else, or if rows lack something they had. */
export function contractChanges(before: Contract, after: Contract): ContractChange[] {
  const changes: ContractChange[] = []
  const add: Add = (kind, message, more) =>
    changes.push({ kind, breaking: (breakingKinds as readonly string[]).includes(kind), message, ...more })
  const [was, is] = [before.definition, after.definition]
  const isOther = (field: keyof EndpointDefinition) =>
    JSON.stringify(was[field]) !== JSON.stringify(is[field])
  if (isOther('name')) {
    const renamed = `The endpoint was renamed to ${is.name}; requests to ${was.name} fail, requests by id still work. Tokens with the scope query:${was.name} need query:${is.name}.`
    add('endpoint_renamed', renamed)
  }
  addParameterChanges(was, is, add)
  addColumnChanges(outputColumns(before), outputColumns(after), add)
  if (isOther('timestamps')) {
    const shown = `Timestamps were in the form ${was.timestamps} and are now in the form ${is.timestamps}.`
    add('timestamps_changed', shown, {
      breaking: after.columns.some(({ type }) => type.includes('DateTime')),
    })
  }
  const rows = `The maximum number of rows changed from ${was.max_rows} to ${is.max_rows}.`
  if (isOther('max_rows')) add(is.max_rows < was.max_rows ? 'max_rows_lowered' : 'max_rows_raised', rows)
  addSandboxChanges(was, is, add)
  if (!was.strict && is.strict) add('strict_on', 'Requests with unknown parameters are now refused.')
  if (was.strict && !is.strict) add('strict_off', 'Unknown parameters in requests are now ignored.')
  if (was.published && !is.published) {
    add('unpublished', 'Tokens with a project can no longer call the endpoint.')
  }
  if (!was.published && is.published) add('published', 'Tokens with a project can now call the endpoint.')
  if (isOther('query')) add('query_changed', 'The SQL changed; values may differ.')
  const kept = `Results were ${cached(was.cache_seconds)} and are now ${cached(is.cache_seconds)}.`
  if (isOther('cache_seconds')) add('cache_changed', kept)
  if (isOther('warm_seconds')) {
    add('cache_changed', 'The way cached results are refreshed changed.')
  }
  const limit = `The time limit changed from ${was.timeout_seconds} s to ${is.timeout_seconds} s.`
  if (isOther('timeout_seconds')) add('timeout_changed', limit)
  if (isOther('description')) add('description_changed', 'The description of the endpoint changed.')
  if (isOther('chart')) add('chart_changed', 'The chart of the endpoint changed.')
  return changes
}

function cached(seconds: number | null): string {
  return seconds === null ? 'not cached' : `cached for ${seconds} s`
}

function addSandboxChanges(was: EndpointDefinition, is: EndpointDefinition, add: Add): void {
  if (was.sandbox && !is.sandbox) add('sandbox_off', 'Callers can no longer send their own SQL.')
  if (!was.sandbox && is.sandbox) {
    add('sandbox_on', 'Callers can now send their own SQL over the views of the query.')
  }
  if (!was.sandbox || !is.sandbox) return
  const viewsOf = ({ query }: EndpointDefinition) => sandboxViews(query).names
  const [then, now] = [viewsOf(was), viewsOf(is)]
  for (const view of without(then, now)) {
    add('sandbox_view_removed', `View ${view} was removed from the sandbox.`)
  }
  for (const view of without(now, then)) add('sandbox_view_added', `View ${view} was added to the sandbox.`)
}

function without(all: readonly string[], others: readonly string[]): string[] {
  return all.filter((one) => !others.includes(one))
}

function addParameterChanges(before: EndpointDefinition, after: EndpointDefinition, add: Add): void {
  const parametersOf = ({ query, parameters }: EndpointDefinition) =>
    allDeclarations(parameters, queryOf(query).parameterNames)
  const [was, is] = [parametersOf(before), parametersOf(after)]
  const sent = after.strict ? 'requests that send it are refused' : 'it is ignored in requests that send it'
  for (const parameter of without(Object.keys(was), Object.keys(is))) {
    add('parameter_removed', `Parameter ${parameter} was removed; ${sent}.`, { parameter })
  }
  for (const [parameter, now] of Object.entries(is)) {
    const then = Object.hasOwn(was, parameter) ? was[parameter] : undefined
    if (then) addChangesOf(parameter, then, now, add)
    else if (now.required) {
      add('parameter_required', `Required parameter ${parameter} was added.`, { parameter })
    } else add('parameter_added', `Optional parameter ${parameter} was added.`, { parameter })
  }
}

function addChangesOf(
  parameter: string,
  was: ParameterDeclaration,
  is: ParameterDeclaration,
  addChange: Add,
): void {
  const add: Add = (kind, message, more) => addChange(kind, message, { ...more, parameter })
  const shown = (value: string | undefined) => (value === undefined ? 'null' : JSON.stringify(value))
  if (!was.required && is.required) add('parameter_required', `Parameter ${parameter} is now required.`)
  if (was.required && !is.required) add('parameter_optional', `Parameter ${parameter} is now optional.`)
  if (was.required === is.required && was.default !== is.default) {
    const change = `changed from ${shown(was.default)} to ${shown(is.default)}`
    add('parameter_default_changed', `The default of parameter ${parameter} ${change}.`)
  }
  const [then, now] = [typeText(was), typeText(is)]
  if (then !== now) {
    const isWider = accepts(is, was)
    const outcome = isWider
      ? 'all previous values are still accepted'
      : 'some requests fail or mean something else'
    const message = `The type of parameter ${parameter} changed from ${then} to ${now}; ${outcome}.`
    add('parameter_type_changed', message, { breaking: !isWider })
  }
  if (was.enum && !is.enum) add('parameter_values_added', `Parameter ${parameter} now accepts any value.`)
  if (is.enum) {
    const [removed, added] = [without(was.enum ?? [], is.enum), without(is.enum, was.enum ?? is.enum)]
    const fewer = was.enum
      ? `no longer accepts ${removed.join(', ')}`
      : `now accepts only ${is.enum.join(', ')}`
    if (!was.enum || removed.length > 0) add('parameter_values_removed', `Parameter ${parameter} ${fewer}.`)
    const more = `Parameter ${parameter} now also accepts ${added.join(', ')}.`
    if (added.length > 0) add('parameter_values_added', more)
  }
  if (was.empty_is_omitted !== is.empty_is_omitted) {
    const meaning = is.empty_is_omitted ? 'is now treated as omitted' : 'is no longer treated as omitted'
    add('parameter_empty_changed', `An empty value of parameter ${parameter} ${meaning}.`)
  }
  if (was.description !== is.description || was.example !== is.example) {
    add('parameter_description_changed', `The description of parameter ${parameter} changed.`)
  }
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
      add('column_renamed', `Column ${column} was renamed to ${now.name}.`, { column })
    } else add('column_removed', `Column ${column} was removed.`, { column })
  }
  for (const { name, type } of before) addTypeChange(name, type, is.get(name) ?? type, add)
  for (const { name: column, type } of after) {
    const isNew = !was.has(column) && !newNames.has(column)
    if (isNew) add('column_added', `Column ${column} (${type}) was added.`, { column })
  }
  const places = [...is.keys()]
  const kept = before.flatMap(({ name }) => (is.has(name) ? places.indexOf(name) : []))
  // Every format names its columns, so callers do not rely on positions.
  const message = 'The columns are in another order; only code that reads CSV by position is affected.'
  if (kept.some((place, index) => place < (kept[index - 1] ?? -1))) add('columns_reordered', message)
}

function addTypeChange(column: string, was: string, is: string, add: Add): void {
  if (was === is) return
  const [then, now] = [outputForm(was), outputForm(is)]
  const isAlike = now.form === then.form || (now.form === 'integer' && then.form === 'number')
  const canBeNull = now.isNullable && !then.isNullable
  const looks = isAlike ? 'it looks the same in JSON and CSV' : 'it looks different in JSON and CSV'
  const outcome = canBeNull ? 'it can now be null' : looks
  const message = `The type of column ${column} changed from ${was} to ${is}; ${outcome}.`
  add('column_type_changed', message, { breaking: canBeNull || !isAlike, column })
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
