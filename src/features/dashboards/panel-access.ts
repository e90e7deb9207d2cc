import type { Caller } from '../../core/access/caller.ts'
import { forbidden } from '../../core/base/errors.ts'
import { declarationOf } from '../../core/endpoints/definition/parameter-declaration.ts'
import { readValue } from '../../core/endpoints/definition/parameters.ts'
import type { Endpoints, SavedEndpoint } from '../../core/endpoints/manage/endpoints.ts'
import { type SentParameters, textsFor } from '../../core/http/request-parameters.ts'
import type { GrantCall } from '../../core/http/routes/query.ts'
import { referenceIn } from '../../shared/names.ts'
import { type Panel, panelsOf, type SavedDashboard } from './dashboard.ts'
import type { Dashboards } from './dashboard-kind.ts'

type Values = Readonly<Record<string, string>>
type Found = Pick<Endpoints, 'find'>

/**
 * The endpoint of a call that a dashboard's scope allows: it must be a call of one of its panels. Undefined if the caller's
 * other scopes decide.
 */
function panelEndpoint(
  { endpoints, dashboards }: { endpoints: Found; dashboards: Dashboards },
  caller: Caller,
  reference: string,
  sent: SentParameters,
): SavedEndpoint | undefined {
  const endpoint = endpoints.find(reference)
  if (!endpoint || caller.mayCall(endpoint.definition)) return undefined
  if (!caller.maySee(endpoint.definition)) return undefined
  const texts = textsFor(endpoint, sent)
  let closest: unknown[] | undefined
  for (const scope of caller.pages) {
    // Ids come first here: scopes of links have them, and nobody can take one as a name.
    const definition = (dashboards.withId(scope) ?? dashboards.find(scope))?.definition
    if (!definition) continue
    for (const { panel } of panelsOf(definition)) {
      if (endpoints.find(panel.endpoint) !== endpoint) continue
      const problems = [...misfitsOf(panel, definition.parameters, caller, texts)]
      if (problems.length === 0) return endpoint
      if (!closest || problems.length < closest.length) closest = problems
    }
  }
  if (closest) throw closest[0]
  return undefined
}

/** Grants calls of panels to callers with the scope of their dashboard. */
export function panelCalls(parts: { endpoints: Found; dashboards: Dashboards }): GrantCall {
  return (caller, reference, sent) => {
    if (caller.pages.length === 0) return undefined
    const endpoint = panelEndpoint(parts, caller, reference, sent)
    if (endpoint === undefined) return undefined
    if (sent.control.has('_version')) throw forbidden('Panels of dashboards have no _version.')
    return { endpoint, isAllowed: () => isPanelCall(parts, caller, reference, sent) }
  }
}

function isPanelCall(...call: Parameters<typeof panelEndpoint>): boolean {
  try {
    return panelEndpoint(...call) !== undefined
  } catch {
    return false
  }
}

/** Why a call is not one of this panel. */
function* misfitsOf(
  { parameters = {} }: Panel,
  declared: SavedDashboard['definition']['parameters'],
  caller: Caller,
  sent: Values,
): Generator<unknown> {
  const refused = (action: 'send' | 'change' | 'omit', name: string) =>
    forbidden(`This token may call the endpoint only as its dashboard does; ${action} the parameter ${name}.`)
  for (const name of Object.keys(sent)) {
    if (!Object.hasOwn(parameters, name) && !Object.hasOwn(caller.parameters, name))
      yield refused('omit', name)
  }
  const { project, pageParameters } = caller
  const gone = Object.keys(pageParameters).find((name) => !Object.hasOwn(declared, name))
  if (gone !== undefined)
    yield forbidden(`This link fixes ${gone}, which its dashboard does not have anymore.`)
  const fixed: Record<string, string | undefined> = { project, ...pageParameters }
  const chosen = new Map<string, string | undefined>()
  const given = (name: string) => (Object.hasOwn(sent, name) ? sent[name] : caller.parameters[name])
  // Those that are omitted come last: of two parameters with one value, the omitted one is the problem.
  const isOmitted = ([name]: readonly [string, unknown]) => Number(given(name) === undefined)
  for (const [name, value] of Object.entries(parameters).sort((a, b) => isOmitted(a) - isOmitted(b))) {
    const own = given(name)
    const misfit = () => refused(own === undefined ? 'send' : 'change', name)
    const reference = referenceIn(value)
    if (reference === undefined) {
      if (own !== value) yield misfit()
      continue
    }
    const declaration = declarationOf(declared, reference)
    const isOther = chosen.has(reference) && chosen.get(reference) !== own
    const must = Object.hasOwn(fixed, reference) ? fixed[reference] : undefined
    const isNeeded = declaration.required || declaration.default !== undefined
    if (isOther || (must !== undefined && own !== must) || (own === undefined && isNeeded)) yield misfit()
    else if (own !== undefined) {
      try {
        readValue(name, declaration, own)
      } catch (error) {
        yield error
      }
    }
    chosen.set(reference, own)
  }
}
