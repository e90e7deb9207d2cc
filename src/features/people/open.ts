import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { audit as auditFeature } from '../audit/index.ts'
import { addAuthRoutes } from './auth-routes.ts'
import { Oidc, type OidcSettings } from './oidc.ts'
import { People } from './people.ts'
import { addPeopleRoutes } from './routes.ts'
import { peopleSettings } from './settings.ts'

export type OpenPeople = Awaited<ReturnType<typeof openPeople>>

export async function openPeople(core: Core) {
  const { catalog, access, settings, time, log, adminSecret: secret, cookies, hooks } = core
  const { audit } = core.feature(auditFeature)
  const own = core.settingsOf(peopleSettings)
  const people = new People({
    ...{ catalog, access },
    customerScopes: own.oidcCustomerScopes,
    async sessionsEnded(id, by) {
      for (const ended of hooks.sessionsEnded) await ended(id, by)
    },
  })
  hooks.holders.push((id) => people.find(id))
  // The issuer needs the other settings, which are checked together.
  const oidcSettings = { ...settings, ...own, oidcRoles: own.oidcRoles ?? [] } as OidcSettings
  /** Undefined: people sign in with tokens only. */
  const oidc =
    own.oidcIssuer === undefined
      ? undefined
      : new Oidc({ settings: oidcSettings, secret, clock: time.wall, log })
  hooks.signOutPerson = async (owner, cookie, by) => {
    if (!people.find(owner)) return false
    await people.signOut(owner, cookie, by)
    return true
  }
  hooks.signsPeopleIn = oidc !== undefined
  return {
    routes(server: FastifyInstance) {
      addAuthRoutes(server, { access, cookies, people, oidc, audit })
      addPeopleRoutes(server, { people })
    },
  }
}
