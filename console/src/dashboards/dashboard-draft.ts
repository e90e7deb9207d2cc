import { parameterNames } from '../api/parameter-names.ts'
import type { Dashboard, Endpoint, Parameter } from '../api/shapes.ts'
import type { Kind } from '../definitions/definition.ts'
import type { Item } from '../query/dashboard/model.ts'

/** The fields of a dashboard that people edit. */
export type DashboardDraft = Pick<
  Dashboard,
  'name' | 'title' | 'description' | 'parameters' | 'rows' | 'refresh' | 'published'
>

export const newDashboard: DashboardDraft = {
  name: '',
  title: '',
  description: '',
  parameters: {},
  rows: [],
  refresh: null,
  published: false,
}

const fields = Object.keys(newDashboard) as (keyof DashboardDraft)[]

export const dashboardKind: Kind<Dashboard, DashboardDraft> = {
  path: 'dashboards',
  one: 'dashboard',
  draftOf: (dashboard) =>
    Object.fromEntries(fields.map((field) => [field, dashboard[field]])) as unknown as DashboardDraft,
}

/** A panel for an endpoint: parameters of the same name are shared, and those that are required, listed or times are new. */
export function panelFor(endpoint: Endpoint, declared: DashboardDraft['parameters']) {
  const parameters: Record<string, string> = {}
  const added: Record<string, Parameter> = {}
  for (const name of parameterNames(endpoint)) {
    const parameter = endpoint.parameters[name]
    const isChosen = parameter?.required || parameter?.enum !== undefined || parameter?.type === 'timestamp'
    if (!Object.hasOwn(declared, name) && !isChosen) continue
    parameters[name] = `@${name}`
    if (!Object.hasOwn(declared, name) && parameter) added[name] = parameter
  }
  const item: Item = {
    endpoint: endpoint.name,
    width: 6,
    ...(Object.keys(parameters).length > 0 && { parameters }),
  }
  return { item, parameters: { ...declared, ...added } as DashboardDraft['parameters'] }
}

/** The file of a workspace. */
export async function yamlOf({ name: _, ...draft }: DashboardDraft): Promise<string> {
  const { stringify } = await import('yaml')
  const parameters = Object.entries(draft.parameters).map(([name, parameter]) => [
    name,
    plain(parameter, declared),
  ])
  const all = { ...draft, parameters: Object.fromEntries(parameters) }
  return stringify(plain(all, { ...newDashboard }), { lineWidth: 0 })
}

const declared = { type: 'string', required: false, empty_is_omitted: false, description: '' }

/** Without fields that have their defaults. */
function plain(fields: object, defaults: Record<string, unknown>): object {
  const own = Object.entries(fields).filter(
    ([name, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(defaults[name]),
  )
  return Object.fromEntries(own)
}

/** Reads a file of a workspace. The service checks what it says. */
export async function draftIn(text: string, name: string): Promise<DashboardDraft> {
  const { parse } = await import('yaml')
  const read: unknown = parse(text) ?? {}
  if (typeof read !== 'object' || Array.isArray(read)) throw new Error('The text is not a list of fields.')
  return { ...newDashboard, ...read, name }
}
