import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Author } from '../base/author.ts'
import { resourceNotFound } from '../base/errors.ts'
import { type Catalog, lastWins } from '../catalog/catalog.ts'
import { type CatalogRecord, readBody } from '../catalog/catalog-state.ts'
import { type Access, environmentToken } from './access.ts'
import { roles, scopeOfRole } from './caller.ts'
import type { SignedIn } from './oidc.ts'

const storedPersonShape = z.object({
  name: z.string(),
  email: z.string().nullable(),
  role: z.enum(roles).nullable(),
  project: z.string().nullable(),
  /** The key of all sessions of the person. Another one ends them. */
  hash: z.string(),
  /** What the person or an admin did last. */
  act: z.enum(['sign_in', 'sign_in_refused', 'sign_out', 'end_sessions']),
  /** Ids of sessions that the person ended. */
  ended: z.array(z.string()),
})

type StoredPerson = z.output<typeof storedPersonShape>

export type PersonView = ReturnType<People['list']>[number]

/** More sessions than a person opens within the longest life of one. */
const maxEnded = 100

/** A customer reads what a tenant's token reads. */
const customerScopes = ['query', 'search']

/** Everybody who has signed in, by the id of their account. Their sessions have the rights of the newest record. */
export class People {
  readonly #catalog: Catalog
  readonly #access: Access
  readonly #stored = new Map<string, { person: StoredPerson; version: number; changedAt: string }>()

  constructor(catalog: Catalog, access: Access) {
    this.#catalog = catalog
    this.#access = access
    catalog.onChange('person', (changed) => this.#take(changed))
  }

  list() {
    const shown = [...this.#stored].map(([id, { person, changedAt }]) => {
      const { name, email, role, project } = person
      const lastUse = Math.max(this.#access.lastUse(id) ?? 0, Date.parse(changedAt))
      return { id, name, email, role, project, last_seen: new Date(lastUse).toISOString() }
    })
    return shown.sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  find(id: string): StoredPerson | undefined {
    return this.#stored.get(id)?.person
  }

  /** Stores who signed in before they get a session. Without a role, earlier sessions end. Returns false for a stranger. */
  async signIn({ id, refusal, ...fields }: SignedIn, by: Author): Promise<boolean> {
    if (refusal !== undefined && !this.#stored.has(id)) return false
    const act = refusal === undefined ? 'sign_in' : 'sign_in_refused'
    // With another key, they stay ended if the person gets a role again.
    const ends = refusal !== undefined && { hash: newKey() }
    await this.#change(id, by, (known) => ({ hash: newKey(), ended: [], ...known, ...fields, act, ...ends }))
    return true
  }

  async signOut(id: string, session: string, by: Author): Promise<void> {
    await this.#change(id, by, (known) => {
      const ended = [...(known?.ended ?? []), session].slice(-maxEnded)
      return { ...(known as StoredPerson), ended, act: 'sign_out' }
    })
  }

  async endSessions(id: string, by: Author): Promise<void> {
    if (!this.#stored.has(id)) throw resourceNotFound(`No person has the id "${id}"`)
    const ends = { hash: newKey(), act: 'end_sessions' } as const
    await this.#change(id, by, (known) => ({ ...(known as StoredPerson), ...ends, ended: [] }))
  }

  #change(id: string, by: Author, next: (known: StoredPerson | undefined) => StoredPerson): Promise<void> {
    // Two tabs may sign in at once.
    return lastWins(undefined, () => {
      const known = this.#stored.get(id)
      const record = { kind: 'person', id, deleted: false, body: next(known?.person) } as const
      return this.#catalog.append(by, { ...record, version: (known?.version ?? 0) + 1 })
    })
  }

  #take(changed: readonly CatalogRecord[]): void {
    const readings = changed.map((record) => ({ record, person: readBody(record, storedPersonShape) }))
    for (const { record, person } of readings) {
      const { id, version, changed_at: changedAt } = record
      this.#stored.set(id, { person, version, changedAt })
      const { role, project, hash, ended } = person
      const scopes = role === null ? customerScopes : [scopeOfRole[role]]
      if (role === null && project === null) this.#access.remove(id)
      else this.#access.put(id, { ...environmentToken('', ''), hash, scopes, project })
      this.#access.endCookies(ended)
    }
  }
}

function newKey(): string {
  return randomBytes(32).toString('hex')
}
