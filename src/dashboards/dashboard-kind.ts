import type { Author } from '../base/author.ts'
import { invalidParameter, WellheadError } from '../base/errors.ts'
import { readShape } from '../base/validation.ts'
import type { Kind, NextDefinitions } from '../definitions/kind.ts'
import type { SavedItems } from '../definitions/saved-items.ts'
import { refuseUnknown } from '../endpoints/call/prepared-call.ts'
import {
  declarationOf,
  sampleValues,
  shownParameters,
} from '../endpoints/definition/parameter-declaration.ts'
import { columnProblem } from '../endpoints/definition/result-columns.ts'
import type { Endpoints, SavedEndpoint } from '../endpoints/manage/endpoints.ts'
import {
  type DashboardFields,
  dashboardShape,
  type Panel,
  panelsOf,
  readDashboard,
  referenceIn,
  type SavedDashboard,
} from './dashboard.ts'

export type DashboardView = ReturnType<typeof view>
export type Dashboards = SavedItems<SavedDashboard>

export function dashboardKind(
  dashboards: Dashboards,
  endpoints: Endpoints,
  removed: (id: string, by: Author) => Promise<void>,
): Kind<SavedDashboard> {
  return {
    name: 'dashboard',
    folder: 'dashboards',
    readOnly: ['endpoints'],
    items: dashboards,
    read: readDashboard,
    fieldsOf: ({ definition }) => definition,
    deletedBody: ({ definition: { name }, created_at, note }) => ({ definition: { name }, created_at, note }),
    async prepare(fields, { current, next, at, note }) {
      const definition = readShape(dashboardShape, fields)
      for (const { path, panel } of panelsOf(definition)) checkPanel(path, panel, definition, next)
      return { body: { definition, created_at: current?.created_at ?? at, note } }
    },
    removed: ({ id }, by) => removed(id, by),
    refersTo: { endpoints: ({ definition }) => panelsOf(definition).map(({ panel }) => panel.endpoint) },
    views: (items) => items.map((item) => view(item, endpoints)),
  }
}

/** Throws if a panel cannot be shown: its endpoint, its parameters or its columns do not fit. */
function checkPanel(path: string, panel: Panel, dashboard: DashboardFields, next: NextDefinitions): void {
  const endpoint = next.find<SavedEndpoint>('endpoints', panel.endpoint)
  if (!endpoint) {
    throw invalidParameter(`${path}.endpoint`, `No endpoint has the id or name "${panel.endpoint}".`)
  }
  try {
    checkParameters(panel, dashboard, endpoint)
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    const { parameter = '' } = error.details as { parameter?: string }
    throw invalidParameter(`${path}.parameters.${parameter}`, `${path}: ${error.message}`)
  }
  const { x, y = [], series, chart } = panel
  const drawn = y.map((column, index) => [`y.${index}`, column] as const)
  for (const [field, column] of [['x', x] as const, ['series', series] as const, ...drawn]) {
    const isDrawn = field.startsWith('y') && chart !== 'table'
    const problem = column === undefined ? undefined : columnProblem(endpoint, column, isDrawn)
    if (problem) throw invalidParameter(`${path}.${field}`, `${path}: ${problem}`)
  }
}

function checkParameters(
  { parameters = {} }: Panel,
  { parameters: declared }: DashboardFields,
  endpoint: SavedEndpoint,
): void {
  refuseUnknown(endpoint, parameters)
  const { definition, compiled } = endpoint
  const samples = sampleValues(definition.parameters)
  const possible = Object.entries(parameters).map(([name, value]) => {
    const reference = referenceIn(value)
    if (reference === undefined) return { name, values: [value] }
    if (!Object.hasOwn(declared, reference)) {
      throw invalidParameter(name, `The dashboard does not declare the parameter ${reference}.`)
    }
    const { enum: allowed, default: preset, example, required } = declarationOf(declared, reference)
    if (declarationOf(definition.parameters, name).required && !required && preset === undefined) {
      const message = `${endpoint.name} requires ${name}, so ${reference} must be required or have a default.`
      throw invalidParameter(name, message)
    }
    return { name, values: allowed ?? [preset ?? example ?? samples[name] ?? ''] }
  })
  const first = Object.fromEntries(possible.map(({ name, values }) => [name, values[0] as string]))
  compiled.check(first)
  for (const { name, values } of possible) {
    for (const value of values.slice(1)) compiled.check({ ...first, [name]: value })
  }
}

/** With what pages need to know about the endpoints, as far as they exist. */
function view(dashboard: SavedDashboard, endpoints: Pick<Endpoints, 'find'>) {
  const { id, name: _, definition, ...common } = dashboard
  const references = [...new Set(panelsOf(definition).map(({ panel }) => panel.endpoint))]
  return {
    id,
    ...definition,
    parameters: shownParameters(definition.parameters),
    endpoints: references.flatMap((name) => {
      const { columns, definition } = endpoints.find(name) ?? {}
      return columns && definition ? [{ name, columns, chart: definition.chart }] : []
    }),
    ...common,
  }
}
