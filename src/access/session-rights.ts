import { invalidParameter } from '../base/errors.ts'
import type { Rights } from './caller.ts'
import type { SessionFields } from './token.ts'

/** The rights of a new session: those of its token, or narrower ones. Throws if they would be wider. */
export function narrowedRights(token: Rights, requested: SessionFields): Rights {
  const { scopes = token.scopes, project, parameters = {} } = requested
  const wider = scopes.find((scope) => !token.scopes.some((granted) => covers(granted, scope)))
  if (wider !== undefined) {
    throw invalidParameter('scopes', `The token does not have the scope ${wider}; a session cannot have it.`)
  }
  if (token.project !== null && (project ?? token.project) !== token.project) {
    const message = `The token is limited to project ${token.project}; omit project or use this one.`
    throw invalidParameter('project', message)
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (Object.hasOwn(token.parameters, name) && token.parameters[name] !== value) {
      const message = `The token is limited to ${name} ${token.parameters[name]}; omit ${name}.`
      throw invalidParameter(`parameters.${name}`, message)
    }
  }
  const rights = {
    scopes: [...new Set(scopes)],
    project: project ?? token.project,
    parameters: { ...token.parameters, ...parameters },
  }
  if (scopes.includes('admin') && (rights.project !== null || Object.keys(rights.parameters).length > 0)) {
    const message = 'A session with the scope admin cannot be limited. Name other scopes, such as query.'
    throw invalidParameter('scopes', message)
  }
  return rights
}

/** What a session and its token both allow now. Undefined if they have nothing in common anymore. */
export function commonRights(token: Rights, session: Rights): Rights | undefined {
  const scopes = session.scopes.flatMap((scope) =>
    token.scopes.some((granted) => covers(granted, scope))
      ? scope
      : token.scopes.filter((granted) => covers(scope, granted)),
  )
  const parameters = { ...token.parameters, ...session.parameters }
  const differs =
    (token.project !== null && session.project !== null && token.project !== session.project) ||
    Object.entries(token.parameters).some(([name, value]) => parameters[name] !== value)
  if (scopes.length === 0 || differs) return undefined
  return { scopes: [...new Set(scopes)], project: token.project ?? session.project, parameters }
}

function covers(granted: string, scope: string): boolean {
  return granted === 'admin' || granted === scope || scope.startsWith(`${granted}:`)
}
