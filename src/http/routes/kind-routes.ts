import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../access/caller.ts'
import { invalidParameter } from '../../base/errors.ts'
import { withArticle } from '../../base/text/with-article.ts'
import type { ChangeTerms, Definitions } from '../../definitions/definitions.ts'
import { noteShape } from '../../definitions/deployment.ts'
import type { Saved } from '../../definitions/kind.ts'
import type { RouteAccess } from '../route-access.ts'
import { authorOf, expectedVersion, flag, ifMatch, versionParam } from './management.ts'
import { json, jsonBody, routesOf } from './route.ts'

/** How the routes of a kind are documented, and what is special about them. */
export interface KindDocs {
  /** In operation ids: `Endpoint`. */
  name: string
  tag: string
  folder: string
  fields: z.ZodObject
  example: object
  change: z.ZodObject
  changeExample: object
  view: z.ZodObject
  /** What those get who made a change. */
  changed?: z.ZodObject
  referenceExample: string
  /** Who changes definitions of this kind. Readers see all kinds. */
  changes: 'edit' | 'admin'
  /** Descriptions of operations, beyond what holds for all kinds. */
  texts?: { reference?: string; create?: string; change?: string; delete?: string; restore?: string }
  /** Whether a change that breaks callers is refused unless the caller insists. */
  refusesBreaking?: boolean
  /** Who may read it besides those with a role, and which of them. */
  reads?: { access: RouteAccess; maySee(caller: Caller, item: Saved | undefined): boolean }
  /** Whether more than the definition is deleted, so that the caller has to repeat its name. */
  confirms?: boolean
}

/** Shown with every definition. */
export const commonView = {
  version: z.int().min(1).describe('Increases with every change.'),
  created_at: z.iso.datetime().describe('When it was created.'),
  updated_at: z.iso.datetime().describe('When this version was created.'),
  updated_by: z.string().describe('Id of the person or token that created this version.'),
  updated_by_name: z.string().nullable().describe('Their name. Null: unknown.'),
  note: z.string().describe('Why this version was created. Set with the parameter `note`.'),
}

const noted = z.object({ note: noteShape.default('').describe('Why this version is created, for people.') })
const notedBreaking = noted.extend({ breaking: flag('Whether to make changes that break callers.') })

export function referenceParams({
  name,
  referenceExample,
  texts = {},
}: Pick<KindDocs, 'name' | 'referenceExample' | 'texts'>) {
  const description = `Id or name of the ${name.toLowerCase()}.${texts.reference ? ` ${texts.reference}` : ''}`
  return z.object({ reference: z.string().meta({ description, example: referenceExample }) })
}

/** Adds the routes that all kinds have. */
export function addKindRoutes(server: FastifyInstance, definitions: Definitions, docs: KindDocs): void {
  const { name, tag, folder, fields, view, changed = view, texts = {} } = docs
  const kind = name.toLowerCase()
  const one = withArticle(kind)
  const route = routesOf(server, { tag, access: 'read' })
  const params = referenceParams(docs)
  const path = `/api/${folder}/:reference` as const
  const query = docs.refusesBreaking ? notedBreaking : noted
  const breakingText = docs.refusesBreaking
    ? ' A change that breaks callers is refused unless `breaking` is true.'
    : ''
  const changeText = `Creates a new version.${breakingText}${texts.change ? ` ${texts.change}` : ''}`
  const errors = docs.refusesBreaking ? [409, 412, 422] : [409, 412]
  const access = docs.changes
  const changing = {
    access,
    query,
    headers: ifMatch,
    responses: { 200: json(`The ${kind} after the change.`, changed, ['ETag']) },
    errors,
  }
  /** The schema of the route has checked the query. */
  const termsOf = (request: FastifyRequest): ChangeTerms => {
    const { note, breaking = !docs.refusesBreaking } = request.query as Partial<
      z.output<typeof notedBreaking>
    >
    return { by: authorOf(request), expected: expectedVersion(request), note: note ?? '', breaking }
  }
  const visibleTo = (caller: Caller | undefined) => (item: Saved | undefined) =>
    docs.reads?.maySee(caller as Caller, item) ?? true
  /** Customers and people with a link do not learn who works on it and why. */
  const shownTo = (caller: Caller | undefined) => (item: object) =>
    caller?.role === undefined ? { ...item, updated_by: '', updated_by_name: null, note: '' } : item
  route(`GET /api/${folder}`, `list${name}s`, `List ${folder}`, {
    responses: { 200: json(`All ${folder}, by name.`, z.array(view)) },
    ...(docs.reads && { access: docs.reads.access }),
    handler: async ({ caller }) => (await definitions.list(folder, visibleTo(caller))).map(shownTo(caller)),
  })
  route(`POST /api/${folder}`, `create${name}`, `Create ${one}`, {
    access,
    ...(texts.create !== undefined && { description: texts.create }),
    query: noted,
    body: jsonBody(fields, docs.example),
    responses: { 201: json(`The ${kind}.`, changed, ['ETag', 'Location']) },
    errors: docs.refusesBreaking ? [409, 422] : [409],
    handler: (request) => definitions.create(folder, request.body, termsOf(request)),
  })
  route(`GET ${path}`, `get${name}`, `Show ${one}`, {
    params,
    ...(docs.reads && { access: docs.reads.access }),
    responses: { 200: json(`The ${kind}.`, view, ['ETag']) },
    handler: async ({ params, caller }) =>
      shownTo(caller)(await definitions.get(folder, params.reference, visibleTo(caller))),
  })
  route(`PUT ${path}`, `replace${name}`, `Replace ${one}`, {
    ...changing,
    params,
    description: `Omitted fields get their defaults. ${changeText}`,
    body: jsonBody(fields, docs.example),
    handler: (request) =>
      definitions.change(folder, request.params.reference, request.body, 'default', termsOf(request)),
  })
  route(`PATCH ${path}`, `change${name}`, `Change some fields of ${one}`, {
    ...changing,
    params,
    description: changeText,
    body: jsonBody(docs.change, docs.changeExample),
    handler: (request) =>
      definitions.change(folder, request.params.reference, request.body, 'stay', termsOf(request)),
  })
  route(`DELETE ${path}`, `delete${name}`, `Delete ${one}`, {
    access,
    description: [texts.delete, 'What is used cannot be deleted.'].filter(Boolean).join(' '),
    params,
    headers: ifMatch,
    ...(docs.confirms && { query: confirmation }),
    // What does not exist is reported before a missing confirmation.
    ...(docs.confirms && { unchecked: true }),
    responses: { 204: json(`The ${kind} is deleted.`) },
    errors: [400, 409, 412],
    handler: async (request) => {
      const { reference } = request.params as { reference: string }
      if (docs.confirms) {
        const { name } = definitions.find<Saved>(folder, reference)
        if ((request.query as { confirm?: unknown }).confirm !== name) {
          const message = `Deleting ${name} deletes its entries. To confirm, send confirm=${name}.`
          throw invalidParameter('confirm', message)
        }
      }
      await definitions.delete(folder, reference, termsOf(request))
    },
  })
  route(`GET ${path}/versions`, `list${name}Versions`, `List the versions of ${one}`, {
    params,
    responses: { 200: json('All versions that are kept, newest first.', z.array(view)) },
    handler: ({ params }) => definitions.versions(folder, params.reference),
  })
  route(`POST ${path}/versions/:version/restore`, `restore${name}Version`, `Restore a version of ${one}`, {
    ...changing,
    params: params.extend(versionParam),
    description: ['Restores the fields of the old version.', texts.restore, changeText]
      .filter(Boolean)
      .join(' '),
    handler: (request) => {
      const { reference, version } = request.params as { reference: string; version: number }
      return definitions.restore(folder, reference, version, termsOf(request))
    },
  })
}

const confirmation = z.object({
  confirm: z.unknown().meta({ description: 'Its name, to confirm.', type: 'string', example: 'edge_logs' }),
})
