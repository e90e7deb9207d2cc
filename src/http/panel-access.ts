import type { Caller } from '../access/caller.ts'
import { forbidden } from '../base/errors.ts'
import { type Panel, panelsOf, referenceIn, type SavedDashboard } from '../dashboards/dashboard.ts'
import type { Dashboards } from '../dashboards/dashboard-kind.ts'
import { declarationOf } from '../endpoints/definition/parameter-declaration.ts'
import { readValue } from '../endpoints/definition/parameters.ts'
import type { Endpoints, SavedEndpoint } from '../endpoints/manage/endpoints.ts'

type Values = Readonly<Record<string, string>>
type Found = Pick<Endpoints, 'find'>

/** Those with its scope see a dashboard, those with a role all, and others published ones whose endpoints they may call. */
export function maySee(caller: Caller, dashboard: SavedDashboard | undefined, endpoints: Found): boolean {
  if (caller.role !== undefined) return true
  if (!dashboard) return false
  const { id, name, definition } = dashboard
  if (caller.dashboards.includes(name) || caller.dashboards.includes(id)) return true
  if (caller.project !== undefined && !definition.published) return false
  const panels = panelsOf(definition)
  const mayCall = ({ panel }: { panel: Panel }) => {
    const endpoint = endpoints.find(panel.endpoint)
    return endpoint !== undefined && caller.mayCall(endpoint.definition)
  }
  return panels.length > 0 && panels.every(mayCall)
}

/**
 * The endpoint of a call that a dashboard's scope allows: it must be a call of one of its panels. Undefined if the caller's
 * other scopes decide.
 */
export function panelEndpoint(
  { endpoints, dashboards }: { endpoints: Found; dashboards: Dashboards },
  caller: Caller,
  reference: string,
  sent: Values,
): SavedEndpoint | undefined {
  const endpoint = caller.dashboards.length === 0 ? undefined : endpoints.find(reference)
  if (!endpoint || caller.mayCall(endpoint.definition)) return undefined
  if (caller.project !== undefined && !endpoint.definition.published) return undefined
  if (endpoint.readsAudit) return undefined
  let problem: unknown
  for (const scope of caller.dashboards) {
    // Ids come first here: scopes of links have them, and nobody can take one as a name.
    const definition = (dashboards.findById(scope) ?? dashboards.find(scope))?.definition
    if (!definition) continue
    for (const { panel } of panelsOf(definition)) {
      if (endpoints.find(panel.endpoint) !== endpoint) continue
      try {
        refuseMisfit(panel, definition.parameters, caller, sent)
        return endpoint
      } catch (error) {
        problem = error
      }
    }
  }
  if (problem !== undefined) throw problem
  return undefined
}

/** Whether a dashboard's scope still allows a call. */
export function isPanelCall(...call: Parameters<typeof panelEndpoint>): boolean {
  try {
    return panelEndpoint(...call) !== undefined
  } catch {
    return false
  }
}

/** Throws if a call is not one of this panel. */
function refuseMisfit(
  { parameters = {} }: Panel,
  declared: SavedDashboard['definition']['parameters'],
  caller: Caller,
  sent: Values,
): void {
  const refused = (name: string) =>
    forbidden(`This token may call the endpoint only as its dashboard does; change the parameter ${name}.`)
  const extra = Object.keys(sent).find(
    (name) => !Object.hasOwn(parameters, name) && !Object.hasOwn(caller.parameters, name),
  )
  if (extra !== undefined) throw refused(extra)
  const { project, dashboardParameters } = caller
  const gone = Object.keys(dashboardParameters).find((name) => !Object.hasOwn(declared, name))
  if (gone !== undefined)
    throw forbidden(`This link fixes ${gone}, which its dashboard does not have anymore.`)
  const fixed: Record<string, string | undefined> = { project, ...dashboardParameters }
  const chosen = new Map<string, string | undefined>()
  for (const [name, value] of Object.entries(parameters)) {
    const reference = referenceIn(value)
    const given = Object.hasOwn(sent, name) ? sent[name] : caller.parameters[name]
    if (reference === undefined) {
      if (given !== value) throw refused(name)
      continue
    }
    const declaration = declarationOf(declared, reference)
    const isOther = chosen.has(reference) && chosen.get(reference) !== given
    const must = Object.hasOwn(fixed, reference) ? fixed[reference] : undefined
    if (isOther || (must !== undefined && given !== must)) throw refused(name)
    if (given === undefined && (declaration.required || declaration.default !== undefined))
      throw refused(name)
    if (given !== undefined) readValue(name, declaration, given)
    chosen.set(reference, given)
  }
}
