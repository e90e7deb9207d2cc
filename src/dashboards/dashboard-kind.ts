import type { Author } from '../base/author.ts'
import { invalidParameter, resourceNotFound, WellheadError } from '../base/errors.ts'
import { closestName } from '../base/text/closest-name.ts'
import { readShape } from '../base/validation.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Kind, NextDefinitions, Saved } from '../definitions/kind.ts'
import { refuseUnknown } from '../endpoints/call/prepared-call.ts'
import {
  declarationOf,
  sampleValues,
  shownParameters,
} from '../endpoints/definition/parameter-declaration.ts'
import { isNumberType } from '../endpoints/definition/result-columns.ts'
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

/** The dashboards of the catalog. */
export class Dashboards {
  readonly #byId = new Map<string, SavedDashboard>()
  readonly #onChange: (() => void)[] = []

  constructor(catalog: Catalog) {
    catalog.onChange('dashboard', (changed) => {
      for (const [record, dashboard] of changed.map((each) => [each, readDashboard(each)] as const)) {
        if (record.deleted) this.#byId.delete(record.id)
        else this.#byId.set(record.id, dashboard)
      }
      for (const listener of this.#onChange) listener()
    })
  }

  onChange(listener: () => void): void {
    this.#onChange.push(listener)
  }

  list(): SavedDashboard[] {
    return [...this.#byId.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** Names come first: one that looks like an id is still a name. */
  find(reference: string): SavedDashboard | undefined {
    const found = this.list().find(({ name }) => name === reference)
    return found ?? this.#byId.get(reference.toLowerCase())
  }

  /** Ids come first here: scopes of links have them, and nobody can take one as a name. */
  ofScope(reference: string): SavedDashboard | undefined {
    return this.#byId.get(reference) ?? this.find(reference)
  }
}

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
    notFound: (reference) => {
      const names = dashboards.list().map(({ name }) => name)
      const sentence = `No dashboard has the id or name "${reference}"`
      return resourceNotFound(sentence, closestName(reference, names))
    },
    read: readDashboard,
    fieldsOf: ({ definition }) => definition,
    deletedBody: ({ definition: { name }, created_at, note }) => ({ definition: { name }, created_at, note }),
    async prepare(fields, { current, next, at, note }) {
      const definition = readShape(dashboardShape, fields)
      for (const { path, panel } of panelsOf(definition)) checkPanel(path, panel, definition, next)
      return { body: { definition, created_at: current?.created_at ?? at, note } }
    },
    removed: ({ id }, by) => removed(id, by),
    views: (items) => items.map((item) => view(item, endpoints)),
  }
}

/** Names of the dashboards that call an endpoint. */
export function dashboardsOn({ id, name }: Saved, next: NextDefinitions): string[] {
  const isOn = ({ panel: { endpoint } }: { panel: Panel }) =>
    endpoint === name || endpoint.toLowerCase() === id
  return dashboardNames(next, isOn)
}

/** Those that would no longer find it. Another endpoint can have the name then. */
export function dashboardsWithout(endpoint: Saved, next: NextDefinitions): string[] {
  const isMissing = ({ panel }: { panel: Panel }) => !next.find('endpoints', panel.endpoint)
  const users = dashboardsOn(endpoint, next)
  return users.length === 0 ? users : dashboardNames(next, isMissing).filter((name) => users.includes(name))
}

function dashboardNames(next: NextDefinitions, isUser: (each: { panel: Panel }) => boolean): string[] {
  const all = next.list<SavedDashboard>('dashboards')
  return all
    .filter(({ definition }) => panelsOf(definition).some(isUser))
    .map(({ name }) => `dashboards/${name}`)
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
  const types = new Map(endpoint.columns.map(({ name, type }) => [name, type]))
  const named = [['x', x], ['series', series], ...y.map((column, index) => [`y.${index}`, column])] as const
  for (const [field, column = ''] of named.filter(([, name]) => name !== undefined)) {
    const type = types.get(column)
    const names = [...types.keys()].join(', ')
    if (type === undefined) {
      const message = `${path}: ${endpoint.name} has no column "${column}". It has ${names}.`
      throw invalidParameter(`${path}.${field}`, message)
    }
    if (field?.startsWith('y') && chart !== 'table' && !isNumberType(type)) {
      throw invalidParameter(
        `${path}.${field}`,
        `${path}: The column "${column}" is not a number but ${type}.`,
      )
    }
  }
}

function checkParameters(panel: Panel, dashboard: DashboardFields, endpoint: SavedEndpoint): void {
  const { parameters = {} } = panel
  refuseUnknown(endpoint, parameters)
  const { definition, compiled } = endpoint
  const samples = sampleValues(definition.parameters)
  const possible = Object.entries(parameters).map(([name, value]) => {
    const reference = referenceIn(value)
    if (reference === undefined) return { name, values: [value] }
    const declared = Object.hasOwn(dashboard.parameters, reference) && dashboard.parameters[reference]
    if (!declared) {
      throw invalidParameter(name, `The dashboard does not declare the parameter ${reference}.`)
    }
    const { enum: allowed, default: preset, example, required } = declared
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
  const { id, definition, version, created_at, updated_at, updated_by, note } = dashboard
  const references = new Set(panelsOf(definition).map(({ panel }) => panel.endpoint))
  return {
    id,
    ...definition,
    parameters: shownParameters(definition.parameters),
    endpoints: [...references].flatMap((reference) => {
      const endpoint = endpoints.find(reference)
      return endpoint
        ? [{ name: reference, columns: endpoint.columns, chart: endpoint.definition.chart }]
        : []
    }),
    ...{ version, created_at, updated_at, updated_by, note },
  }
}
