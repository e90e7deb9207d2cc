import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Access } from '../../core/access/access.ts'
import { hashToken, randomSecret } from '../../core/access/admin-token.ts'
import { tokenWith } from '../../core/access/known-tokens.ts'
import { tokenFields } from '../../core/access/token.ts'
import { type Author, authorId } from '../../core/base/author.ts'
import type { Clock } from '../../core/base/clock.ts'
import { invalidBody, invalidParameter, resourceNotFound } from '../../core/base/errors.ts'
import { valueText } from '../../core/base/validation.ts'
import type { Catalog } from '../../core/catalog/catalog.ts'
import { type SavedRecord, SavedRecords } from '../../core/definitions/saved-records.ts'

/** What users send. */
export const linkShape = z.strictObject({
  project: tokenFields.project.default(null).describe('The only project that the link shows.'),
  all_projects: z
    .boolean()
    .default(false)
    .describe('Whether it shows all projects. It needs this or a project.'),
  parameters: z
    .record(z.string(), valueText.pipe(z.string().max(256, 'must be at most 256 characters long')))
    .default({})
    .describe('Parameters of the dashboard that viewers cannot choose.'),
  expires_at: tokenFields.expires_at
    .default(null)
    .describe('When the link stops working. Null: after `WELLHEAD_LINK_DAYS`.'),
})

export type LinkFields = z.output<typeof linkShape>

const storedShape = linkShape.extend({
  dashboard: z.string(),
  hash: z.string(),
  created_at: z.string(),
  created_by: z.string(),
})
type StoredLink = z.output<typeof storedShape>
export type LinkView = ReturnType<Links['list']>[number]

interface LinksOptions {
  catalog: Catalog
  access: Access
  clock: Clock
  /** How long a link works at most. */
  maxDays: number
}

const maxOfDashboard = 100
const sessionMinutes = 15
const dayMs = 86_400_000

/** Links to dashboards: stored, revocable secrets. Their sessions have the rights of a token with the dashboard's scope. */
export class Links {
  readonly #options: LinksOptions
  readonly #links: SavedRecords<StoredLink>
  /** Ids by the hash of their secret: whoever guesses one must not make the service look at all links. */
  readonly #ids = new Map<string, string>()

  constructor(options: LinksOptions) {
    this.#options = options
    const { catalog, access } = options
    this.#links = new SavedRecords(catalog, { name: 'link', plural: 'links', most: 10_000 }, storedShape)
    this.#links.follow((changes) => {
      for (const { id, before, after } of changes) {
        if (before) this.#ids.delete(before.body.hash)
        if (after) this.#ids.set(after.body.hash, id)
        if (after) access.put(id, tokenOf(after.body, this.#endOf(after.body)), false, after.body.created_by)
        else access.remove(id)
      }
    })
  }

  list(dashboard: string) {
    return this.#of(dashboard).map(({ id, body }) => {
      const { hash: _, dashboard: _dashboard, ...link } = body
      return { ...link, expires_at: this.#endOf(body), id }
    })
  }

  /** The secret is returned once. */
  async create(dashboard: string, fields: LinkFields, by: Author): Promise<{ id: string; secret: string }> {
    if ((fields.project === null) !== fields.all_projects) {
      const message = 'Set either project, or all_projects to true if the link may show all projects.'
      throw invalidParameter('project', message)
    }
    const { clock, maxDays } = this.#options
    const nowMs = clock.now()
    const maxMs = maxDays * dayMs
    const lastsMs = fields.expires_at === null ? maxMs : Date.parse(fields.expires_at) - nowMs
    if (lastsMs <= 0 || lastsMs > maxMs) {
      const message = `expires_at must be later than now, and at most ${maxDays} days later (WELLHEAD_LINK_DAYS).`
      throw invalidParameter('expires_at', message)
    }
    if (this.#of(dashboard).length >= maxOfDashboard) {
      throw invalidBody(`A dashboard can have at most ${maxOfDashboard} links. Delete some first.`)
    }
    const secret = randomSecret()
    const id = randomUUID()
    const made = { created_at: new Date(nowMs).toISOString(), created_by: authorId(by) }
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

  deleteMadeBy(maker: string, by: Author): Promise<void> {
    const made = () => this.#links.values().filter(({ body }) => body.created_by === maker)
    return this.#links.delete(made, by, emptied)
  }

  /** A session for the page that a link opens. It has the same error for a link that ended and one that never was. */
  open(secret: string) {
    const link = this.#links.find(this.#ids.get(hashOf(secret)) ?? '')
    const session = link && this.#options.access.createSession(link.id, { minutes: sessionMinutes })
    if (!link || !session) throw resourceNotFound('This link does not work anymore')
    const { dashboard, project, parameters } = link.body
    return { dashboard, project, parameters, token: session.token, expires_at: session.expires_at }
  }

  /** The setting holds for links that were created before it was changed, too. */
  #endOf({ created_at, expires_at }: Pick<StoredLink, 'created_at' | 'expires_at'>): string {
    const latestMs = Date.parse(created_at) + this.#options.maxDays * dayMs
    return new Date(Math.min(latestMs, expires_at === null ? latestMs : Date.parse(expires_at))).toISOString()
  }

  #of(dashboard: string): SavedRecord<StoredLink>[] {
    return this.#links.values().filter(({ body }) => body.dashboard === dashboard)
  }
}

function emptied(link: StoredLink): StoredLink {
  return { ...link, hash: '', project: null, parameters: {} }
}

/** The hash is not that of a token, so the secret is not accepted as one. */
function hashOf(secret: string): string {
  return hashToken(`link\n${secret}`).toString('hex')
}

function tokenOf({ hash, dashboard, project, parameters }: StoredLink, expires_at: string) {
  // Parameters of the dashboard, not of endpoints. See `callerWith`.
  const fixed = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [`@${name}`, value]))
  return { ...tokenWith(hash, [`dashboard:${dashboard}`]), project, parameters: fixed, expires_at }
}
