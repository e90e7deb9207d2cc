import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Author, authorId } from '../base/author.ts'
import type { Clock } from '../base/clock.ts'
import { invalidBody, invalidParameter, resourceNotFound } from '../base/errors.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { type SavedRecord, SavedRecords } from '../definitions/saved-records.ts'
import { type Access, tokenWith } from './access.ts'
import { hashToken, randomSecret } from './admin-token.ts'
import { tokenFields } from './token.ts'

/** What users send. */
export const linkShape = z.strictObject({
  project: tokenFields.project.default(null).describe('The only project that the link shows.'),
  all_projects: z
    .boolean()
    .default(false)
    .describe('Whether it shows all projects. It needs this or a project.'),
  parameters: z
    .record(z.string(), z.string().max(256, 'must be at most 256 characters long'))
    .default({})
    .describe('Parameters of the dashboard that viewers cannot choose.'),
  expires_at: tokenFields.expires_at.default(null).describe('When the link stops working. Null: never.'),
})

export type LinkFields = z.output<typeof linkShape>

const storedShape = linkShape.extend({
  dashboard: z.string(),
  hash: z.string(),
  created_at: z.string(),
  created_by: z.string(),
})
type StoredLink = z.output<typeof storedShape>
export type LinkView = ReturnType<typeof viewOf>

const maxOfDashboard = 100
const sessionMinutes = 15

/** Links to dashboards: stored, revocable secrets. Their sessions have the rights of a token with the dashboard's scope. */
export class Links {
  readonly #access: Access
  readonly #clock: Clock
  readonly #links: SavedRecords<StoredLink>
  /** Ids by the hash of their secret: whoever guesses one must not make the service look at all links. */
  readonly #ids = new Map<string, string>()

  constructor(catalog: Catalog, access: Access, clock: Clock) {
    this.#access = access
    this.#clock = clock
    this.#links = new SavedRecords(catalog, 'link', storedShape, ({ id, body }, deleted, before) => {
      if (before) this.#ids.delete(before.hash)
      if (deleted) return access.remove(id)
      this.#ids.set(body.hash, id)
      access.put(id, tokenOf(body), false, body.created_by)
    })
  }

  list(dashboard: string): LinkView[] {
    return this.#of(dashboard).map(viewOf)
  }

  /** The secret is returned once. */
  async create(dashboard: string, fields: LinkFields, by: Author): Promise<{ id: string; secret: string }> {
    if ((fields.project === null) !== fields.all_projects) {
      const message = 'Set either project, or all_projects to true if the link may show all projects.'
      throw invalidParameter('project', message)
    }
    if (fields.expires_at !== null && Date.parse(fields.expires_at) <= this.#clock.now()) {
      throw invalidParameter('expires_at', 'expires_at must be later than now.')
    }
    if (this.#of(dashboard).length >= maxOfDashboard) {
      throw invalidBody(`A dashboard can have at most ${maxOfDashboard} links. Delete some first.`)
    }
    const secret = randomSecret()
    const id = randomUUID()
    const made = { created_at: new Date(this.#clock.now()).toISOString(), created_by: authorId(by) }
    await this.#links.put(id, by, () => ({ ...fields, dashboard, hash: hashOf(secret), ...made }))
    return { id, secret }
  }

  async delete(dashboard: string, id: string, by: Author): Promise<void> {
    const found = () => {
      const link = this.#links.find(id)
      if (link?.body.dashboard === dashboard) return [link]
      throw resourceNotFound(`No link of this dashboard has the id "${id}"`)
    }
    await this.#links.delete(found, by, emptied)
  }

  /** Without a dashboard its links show nothing. */
  deleteOf(dashboard: string, by: Author): Promise<void> {
    return this.#links.delete(() => this.#of(dashboard), by, emptied)
  }

  /** A session for the page that a link opens. It has the same error for a link that ended and one that never was. */
  open(secret: string) {
    const link = this.#links.find(this.#ids.get(hashOf(secret)) ?? '')
    const session = link && this.#access.createSession(link.id, { minutes: sessionMinutes })
    if (!link || !session) throw resourceNotFound('This link does not work anymore')
    const { dashboard, project, parameters } = link.body
    return { dashboard, project, parameters, token: session.token, expires_at: session.expires_at }
  }

  #of(dashboard: string): SavedRecord<StoredLink>[] {
    return this.#links.list().filter(({ body }) => body.dashboard === dashboard)
  }
}

function emptied(link: StoredLink): StoredLink {
  return { ...link, hash: '', project: null, parameters: {} }
}

/** The hash is not that of a token, so the secret is not accepted as one. */
function hashOf(secret: string): string {
  return hashToken(`link\n${secret}`).toString('hex')
}

function tokenOf({ hash, dashboard, project, parameters, expires_at }: StoredLink) {
  // Parameters of the dashboard, not of endpoints. See `callerWith`.
  const fixed = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [`@${name}`, value]))
  return { ...tokenWith(hash, [`dashboard:${dashboard}`]), project, parameters: fixed, expires_at }
}

function viewOf({ id, body: { hash: _, dashboard: _dashboard, ...link } }: SavedRecord<StoredLink>) {
  return { ...link, id }
}
