import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Access } from '../../core/access/access.ts'
import { roles, scopeOfRole } from '../../core/access/caller.ts'
import { tokenWith } from '../../core/access/known-tokens.ts'
import type { Author } from '../../core/base/author.ts'
import { resourceNotFound } from '../../core/base/errors.ts'
import type { Catalog } from '../../core/catalog/catalog.ts'
import { SavedRecords } from '../../core/definitions/saved-records.ts'
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

/** One more ends all sessions of the person, so that none comes back because its end was forgotten. */
const maxEnded = 100

interface PeopleOptions {
  catalog: Catalog
  access: Access
  /** What a customer may do. */
  customerScopes: string[]
  /** Called before the sessions of a person end. */
  sessionsEnded: (id: string, by: Author) => Promise<void>
}

/** Everybody who has signed in, by the id of their account. Their sessions have the rights of the newest record. */
export class People {
  readonly #options: PeopleOptions
  readonly #people: SavedRecords<StoredPerson>

  constructor(options: PeopleOptions) {
    this.#options = options
    const { catalog, access, customerScopes } = options
    const kind = { name: 'person', plural: 'people', most: 50_000 }
    this.#people = new SavedRecords(catalog, kind, storedPersonShape)
    this.#people.follow((changes) => {
      for (const { id, item } of changes) {
        const { role, project, hash, ended } = item.body
        const scopes = role === null ? customerScopes : [scopeOfRole[role]]
        if (role === null && project === null) access.remove(id)
        else access.put(id, { ...tokenWith(hash, scopes), project })
        access.endCookies(id, ended)
      }
    })
  }

  list() {
    const shown = this.#people.values().map(({ id, body, changed_at }) => {
      const { name, email, role, project } = body
      const lastUse = Math.max(this.#options.access.lastUse(id) ?? 0, Date.parse(changed_at))
      return { id, name, email, role, project, last_seen: new Date(lastUse).toISOString() }
    })
    return shown.sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  find(id: string): StoredPerson | undefined {
    return this.#people.find(id)?.body
  }

  /**
   * Stores who signed in before they get a session. Without a role, earlier sessions end. Returns false, with nothing stored, for
   * somebody who is refused and has no rights that could end.
   */
  async signIn({ id, refusal, ...fields }: SignedIn, by: Author): Promise<boolean> {
    const { role = null, project = null } = this.find(id) ?? {}
    if (refusal !== undefined && role === null && project === null) return false
    if (fields.role !== 'admin' && fields.role !== 'editor') await this.#options.sessionsEnded(id, by)
    const act = refusal === undefined ? 'sign_in' : 'sign_in_refused'
    // With another key, they stay ended if the person gets a role again.
    const ends = refusal !== undefined && { hash: newKey() }
    await this.#people.put(id, by, (known) => ({
      hash: newKey(),
      ended: [],
      ...known,
      ...fields,
      act,
      ...ends,
    }))
    return true
  }

  async signOut(id: string, session: string, by: Author): Promise<void> {
    await this.#people.put(id, by, (known) => {
      const ended = [...(known?.ended ?? []), session]
      const ends = ended.length > maxEnded ? { hash: newKey(), ended: [] } : { ended }
      return { ...(known as StoredPerson), ...ends, act: 'sign_out' }
    })
  }

  async endSessions(id: string, by: Author): Promise<void> {
    if (!this.#people.find(id)) throw resourceNotFound(`No person has the id "${id}"`)
    const ends = { hash: newKey(), act: 'end_sessions' } as const
    await this.#people.put(id, by, (known) => ({ ...(known as StoredPerson), ...ends, ended: [] }))
    // Afterward, so that no session is left that could create another one.
    await this.#options.sessionsEnded(id, by)
  }
}

function newKey(): string {
  return randomBytes(32).toString('hex')
}
