import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Author, authorId } from '../base/author.ts'
import type { Clock } from '../base/clock.ts'
import { invalidBody, invalidParameter, resourceNotFound } from '../base/errors.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { type CatalogRecord, readBody } from '../catalog/catalog-state.ts'
import type { Access } from './access.ts'
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
type Link = z.output<typeof storedShape> & { id: string }
export type LinkView = ReturnType<typeof viewOf>

const maxOfDashboard = 100
const sessionMinutes = 15

/** Links to dashboards: stored, revocable secrets. Their sessions have the rights of a token with the dashboard's scope. */
export class Links {
  readonly #options: { access: Access; catalog: Catalog; clock: Clock }
  readonly #links = new Map<string, Link>()
  readonly #byHash = new Map<string, Link>()

  constructor(options: { access: Access; catalog: Catalog; clock: Clock }) {
    this.#options = options
    options.catalog.onChange('link', (changed) => this.#take(changed))
  }

  list(dashboard: string): LinkView[] {
    return this.#of(dashboard).map(viewOf)
  }

  /** The secret is returned once. */
  async create(dashboard: string, fields: LinkFields, by: Author): Promise<{ id: string; secret: string }> {
    const { catalog, clock } = this.#options
    if ((fields.project === null) !== fields.all_projects) {
      const message = 'Set either project, or all_projects to true if the link may show all projects.'
      throw invalidParameter('project', message)
    }
    if (fields.expires_at !== null && Date.parse(fields.expires_at) <= clock.now()) {
      throw invalidParameter('expires_at', 'expires_at must be later than now.')
    }
    if (this.#of(dashboard).length >= maxOfDashboard) {
      throw invalidBody(`A dashboard can have at most ${maxOfDashboard} links. Delete some first.`)
    }
    const secret = randomSecret()
    const id = randomUUID()
    const made = { created_at: new Date(clock.now()).toISOString(), created_by: authorId(by) }
    const stored = { ...fields, dashboard, hash: hashOf(secret), ...made }
    await catalog.append(by, { kind: 'link', id, version: 1, deleted: false, body: stored })
    return { id, secret }
  }

  async delete(dashboard: string, id: string, by: Author): Promise<void> {
    const link = this.#links.get(id.toLowerCase())
    if (link?.dashboard !== dashboard) throw resourceNotFound(`No link of this dashboard has the id "${id}"`)
    await this.#remove([link], by)
  }

  /** Without a dashboard its links show nothing. */
  deleteOf(dashboard: string, by: Author): Promise<void> {
    return this.#remove(this.#of(dashboard), by)
  }

  /** A session for the page that a link opens. It has the same error for a link that ended and one that never was. */
  open(secret: string) {
    const link = this.#byHash.get(hashOf(secret))
    const session = link && this.#options.access.createSession(link.id, { minutes: sessionMinutes })
    if (!link || !session) throw resourceNotFound('This link does not work anymore')
    const { dashboard, project, parameters } = link
    return { dashboard, project, parameters, token: session.token, expires_at: session.expires_at }
  }

  #of(dashboard: string): Link[] {
    return [...this.#links.values()].filter((link) => link.dashboard === dashboard)
  }

  async #remove(links: readonly Link[], by: Author): Promise<void> {
    if (links.length === 0) return
    const changes = links.map(({ id, ...link }) => ({
      ...{ kind: 'link' as const, id, version: 2, deleted: true },
      body: { ...link, hash: '', project: null, parameters: {} },
    }))
    await this.#options.catalog.append(by, ...changes)
  }

  #take(changed: readonly CatalogRecord[]): void {
    const links = changed.map((record) => ({ ...readBody(record, storedShape), id: record.id, record }))
    for (const { record, ...link } of links) {
      if (record.deleted) {
        this.#byHash.delete(this.#links.get(link.id)?.hash ?? '')
        this.#links.delete(link.id)
        this.#options.access.remove(link.id)
        continue
      }
      this.#links.set(link.id, link)
      this.#byHash.set(link.hash, link)
      this.#options.access.put(link.id, tokenOf(link), false, link.created_by)
    }
  }
}

/** The hash is not that of a token, so the secret is not accepted as one. */
function hashOf(secret: string): string {
  return hashToken(`link\n${secret}`).toString('hex')
}

function tokenOf({ hash, dashboard, project, parameters, expires_at, created_at, created_by }: Link) {
  // Parameters of the dashboard, not of endpoints. See `callerWith`.
  const fixed = Object.entries(parameters).map(([name, value]) => [`@${name}`, value])
  return {
    ...{ hash, project, expires_at, created_at, created_by, description: '', previous: null },
    scopes: [`dashboard:${dashboard}`],
    parameters: Object.fromEntries(fixed),
    requests_per_minute: null,
  }
}

function viewOf({ hash: _, dashboard: _dashboard, ...view }: Link) {
  return view
}
