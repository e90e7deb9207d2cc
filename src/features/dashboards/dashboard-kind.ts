import { z } from 'zod'
import type { Caller } from '../../core/access/caller.ts'
import type { Author } from '../../core/base/author.ts'
import { endpointNotFound, invalidParameter, WellheadError } from '../../core/base/errors.ts'
import { type FieldShapes, readShape } from '../../core/base/validation.ts'
import type { Items } from '../../core/catalog/items.ts'
import { kindForm, type NextDefinitions, type Opened } from '../../core/definitions/kind.ts'
import { yamlFile } from '../../core/definitions/yaml-file.ts'
import { refuseUnknown } from '../../core/endpoints/call/call.ts'
import { definitionShape as endpointShape } from '../../core/endpoints/definition/definition.ts'
import {
  declarationOf,
  parameterView,
  sampleValues,
  shownParameters,
} from '../../core/endpoints/definition/parameter-declaration.ts'
import { columnProblem, columnsView } from '../../core/endpoints/definition/result-columns.ts'
import type { Endpoints, SavedEndpoint } from '../../core/endpoints/manage/endpoints.ts'
import { referenceIn } from '../../shared/names.ts'
import {
  type DashboardFields,
  dashboardShape,
  type Panel,
  panelsOf,
  type SavedDashboard,
} from './dashboard.ts'

export type Dashboards = Items<SavedDashboard>

interface DashboardParts {
  endpoints: Endpoints
  dashboards: Dashboards
  endLinks: (dashboard: string, by: Author) => Promise<void>
}

const shown = z.object({
  name: z.string().describe('As the item names it.'),
  columns: columnsView,
  chart: endpointShape.shape.chart,
})

const viewShape: FieldShapes<Pick<ReturnType<typeof view>, 'endpoints' | 'parameters'>> = {
  parameters: z.record(z.string(), parameterView).describe('Parameters that viewers choose, by name.'),
  endpoints: z.array(shown).describe('Columns of the endpoints that items call.'),
}

const example = {
  name: 'traffic',
  title: 'Traffic',
  parameters: { project: { required: true } },
  rows: [
    {
      items: [
        {
          endpoint: 'usage.api-counts',
          parameters: { project: '@project', interval: 'hourly' },
          chart: 'bars',
          width: 8,
        },
        { markdown: 'Requests by API area.', width: 4 },
      ],
    },
  ],
}

const form = kindForm<DashboardFields>({
  name: 'dashboard',
  folder: 'dashboards',
  most: 1_000,
  fields: dashboardShape,
  refersTo: { endpoints: (fields) => panelsOf(fields).map(({ panel }) => panel.endpoint) },
  file: yamlFile('dashboard', dashboardShape, { example: 'title: Traffic', inLines: ['parameters', 'rows'] }),
  docs: {
    about: 'Charts of endpoints on one page.',
    fieldsName: 'NewDashboard',
    changes: 'edit',
    reads: 'call',
    example,
    changeExample: { title: 'Traffic of a project' },
    referenceExample: 'traffic',
    texts: { delete: 'Its links stop working.' },
    view: viewShape,
  },
})

export const dashboards = {
  ...form,
  open: (parts: DashboardParts): Opened<SavedDashboard> => ({
    items: parts.dashboards,
    async prepare(fields, { next }) {
      const definition = readShape(dashboardShape, fields)
      for (const { path, panel } of panelsOf(definition)) checkPanel(path, panel, definition, next)
      return { stored: { definition } }
    },
    removed: ({ id }, by) => parts.endLinks(id, by),
    maySee: (caller, item) => maySee(caller as Caller, item, parts.endpoints),
    views: (items) => items.map((item) => view(item, parts.endpoints)),
  }),
}

/** Those with its scope see a dashboard, those with a role all, and others published ones whose endpoints they may call. */
export function maySee(
  caller: Caller,
  dashboard: SavedDashboard,
  endpoints: Pick<Endpoints, 'find'>,
): boolean {
  if (caller.role !== undefined) return true
  const { id, name, definition } = dashboard
  if (caller.pages.includes(name) || caller.pages.includes(id)) return true
  if (caller.project !== undefined && !definition.published) return false
  const panels = panelsOf(definition)
  const mayCall = ({ panel }: { panel: Panel }) => {
    const endpoint = endpoints.find(panel.endpoint)
    return endpoint !== undefined && caller.mayCall(endpoint.definition)
  }
  return panels.length > 0 && panels.every(mayCall)
}

/** Throws if a panel cannot be shown: its endpoint, its parameters or its columns do not fit. */
function checkPanel(path: string, panel: Panel, dashboard: DashboardFields, next: NextDefinitions): void {
  const endpoint = next.find<SavedEndpoint>('endpoints', panel.endpoint)
  if (!endpoint) throw invalidParameter(`${path}.endpoint`, endpointNotFound(panel.endpoint).message)
  try {
    checkParameters(panel, dashboard, endpoint)
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    const { parameter = '' } = error.details as { parameter?: string }
    throw invalidParameter(`${path}.parameters.${parameter}`, `${path}: ${error.message}`)
  }
  const { x, y = [], series, labels = {}, chart } = panel
  const drawn = y.map((column, index) => [`y.${index}`, column] as const)
  const named = Object.keys(labels).map((column) => [`labels.${column}`, column] as const)
  for (const [field, column] of [['x', x] as const, ['series', series] as const, ...drawn, ...named]) {
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
function view({ definition }: SavedDashboard, endpoints: Pick<Endpoints, 'find'>) {
  const references = [...new Set(panelsOf(definition).map(({ panel }) => panel.endpoint))]
  return {
    parameters: shownParameters(definition.parameters),
    endpoints: references.flatMap((name) => {
      const { columns, definition } = endpoints.find(name) ?? {}
      return columns && definition ? [{ name, columns, chart: definition.chart }] : []
    }),
  }
}
