import { Access } from '../access/access.ts'
import { Audit } from '../access/audit.ts'
import { Links } from '../access/links.ts'
import { Oidc, type OidcOptions, type OidcSettings } from '../access/oidc.ts'
import { People } from '../access/people.ts'
import { TokenAdmin } from '../access/token-admin.ts'
import type { Settings } from '../base/settings.ts'
import { auditSource } from '../catalog/built-in-sources.ts'
import { appendTo, type Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

export type AccessParts = ReturnType<typeof createAccess>

/** Who may use the service, and the record of what they did. */
export function createAccess({ settings, time, log }: ServiceOptions, storage: Storage, adminToken: string) {
  const { engine, catalog, sources, projects } = storage
  const clock = time.wall
  const access = new Access(adminToken, clock, settings.authFailuresPerMinute, projects.limitsOf)
  const links = new Links({ catalog, access, clock, maxDays: settings.linkDays })
  const people = new People({ catalog, access, links, customerScopes: settings.oidcCustomerScopes })
  const tokens = new TokenAdmin({ access, people, catalog, engine, clock, log })
  const audit = new Audit({
    catalog,
    engine,
    clock,
    log,
    after: time.after,
    dataDir: settings.dataDir,
    actorOf: (id) => tokens.actorOf(id),
    store: appendTo(auditSource, storage),
    retentionDays: () => sources.get(auditSource).retention_days,
  })
  return {
    access,
    links,
    people,
    tokens,
    audit,
    /** Undefined: people sign in with tokens only. */
    oidc: createOidc(settings, { secret: adminToken, clock, log }),
    nameOf: (id: string) => tokens.actorOf(id).name || null,
  }
}

function createOidc(settings: Settings, parts: Omit<OidcOptions, 'settings'>) {
  if (settings.oidcIssuer === undefined) return undefined
  // The issuer needs the other settings, which are checked together.
  return new Oidc({
    ...parts,
    settings: { ...settings, oidcRoles: settings.oidcRoles ?? [] } as OidcSettings,
  })
}
