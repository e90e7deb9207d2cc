import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../access/caller.ts'
import { invalidParameter } from '../../base/errors.ts'
import { withArticle } from '../../base/text/with-article.ts'
import { changeOf } from '../../base/validation.ts'
import type { ChangeTerms, Definitions } from '../../definitions/definitions.ts'
import { noteShape } from '../../definitions/deployment.ts'
import { commonView, type KindForm, type Saved } from '../../definitions/kind.ts'
import { tagOf } from '../openapi/tags.ts'
import { authorOf, expectedVersion, flag, ifMatch, versionParam } from './management.ts'
import { json, jsonBody, routesOf } from './route.ts'

/** How the API names a kind, and its shapes. The same for each call, because shapes have names in the document. */
const documentedKinds = new WeakMap<object, ReturnType<typeof describe>>()

export type DocumentedKind = ReturnType<typeof describe>

export function documented(kind: KindForm): DocumentedKind {
  const known = documentedKinds.get(kind.fields) ?? describe(kind)
  documentedKinds.set(kind.fields, known)
  return known
}

function describe(kind: KindForm) {
  const { fields, docs } = kind
  const name = kind.name.replace(/^./, (letter) => letter.toUpperCase())
  const sent = docs.fields ?? fields
  const id = z.uuid().describe('Stays the same if the name changes.')
  const view = z.object({ id, ...commonView, ...fields.shape, ...docs.view })
  const changed = docs.changed ? view.extend(docs.changed) : view
  return { ...kind, name, sent, view, changed, change: changeOf(sent) }
}

const noted = z.object({ note: noteShape.default('').describe('Why this version is created, for people.') })
const notedBreaking = noted.extend({ breaking: flag('Whether to make changes that break callers.') })
const hiding = { breaking: flag('Whether to make changes that hide entries, which are deleted later.') }
const notedHiding = noted.extend(hiding)

export function referenceParams(kind: KindForm) {
  const { name, docs } = documented(kind)
  const { reference = '' } = docs.texts ?? {}
  const description = `Id or name of the ${name.toLowerCase()}.${reference && ` ${reference}`}`
  return z.object({ reference: z.string().meta({ description, example: docs.referenceExample }) })
}

/** Adds the routes that all kinds have. */
export function addKindRoutes(
  server: FastifyInstance,
  { definitions, kinds }: { definitions: Definitions; kinds: readonly KindForm[] },
): void {
  for (const kind of kinds) {
    const isUsed = kinds.some(({ refersTo }) => refersTo[kind.folder] !== undefined)
    addRoutesOf(documented(kind), server, definitions, isUsed)
  }
}

function addRoutesOf(
  described: DocumentedKind,
  server: FastifyInstance,
  definitions: Definitions,
  isUsed: boolean,
): void {
  const { name, folder, sent, view, changed, change, docs } = described
  server.components.add({
    input: { [docs.fieldsName]: sent, [`${name}Change`]: change },
    output: { [name]: view, ...(docs.changed && { [`Changed${name}`]: changed }) },
  })
  const { texts = {} } = docs
  const kind = name.toLowerCase()
  const one = withArticle(kind)
  const route = routesOf(server, { tag: tagOf(folder), access: 'read' })
  const params = referenceParams(described)
  const path = `/api/${folder}/:reference` as const
  const query = docs.refusesBreaking ? notedBreaking : docs.hidesEntries ? notedHiding : noted
  const hidingText = ' What hides entries is refused unless `breaking` is true.'
  const breakingText = docs.refusesBreaking
    ? ' A change that breaks callers is refused unless `breaking` is true.'
    : docs.hidesEntries
      ? hidingText
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
    const { note, breaking = false } = request.query as Partial<z.output<typeof notedBreaking>>
    return { by: authorOf(request), expected: expectedVersion(request), note: note ?? '', breaking }
  }
  const visibleTo = (caller: Caller | undefined) => (item: Saved) =>
    definitions.maySee(folder, caller as Caller, item)
  /** Customers and people with a link do not learn who works on it and why. */
  const shownTo = (caller: Caller | undefined) => (item: object) =>
    caller?.role === undefined ? { ...item, updated_by: '', updated_by_name: null, note: '' } : item
  route(`GET /api/${folder}`, `list${name}s`, `List ${folder}`, {
    responses: { 200: json(`All ${folder}, by name.`, z.array(view)) },
    ...(docs.reads && { access: docs.reads }),
    handler: async ({ caller }) =>
      (await definitions.list(folder, caller, visibleTo(caller))).map(shownTo(caller)),
  })
  route(`POST /api/${folder}`, `create${name}`, `Create ${one}`, {
    access,
    ...(texts.create !== undefined && { description: texts.create }),
    query: docs.hidesEntries ? notedHiding : noted,
    body: jsonBody(sent, docs.example),
    responses: { 201: json(`The ${kind}.`, changed, ['ETag', 'Location']) },
    errors: docs.refusesBreaking ? [409, 422] : [409],
    handler: (request) => definitions.create(folder, request.body, termsOf(request)),
  })
  route(`GET ${path}`, `get${name}`, `Show ${one}`, {
    params,
    ...(docs.reads && { access: docs.reads }),
    responses: { 200: json(`The ${kind}.`, view, ['ETag']) },
    handler: async ({ params, caller }) =>
      shownTo(caller)(await definitions.get(folder, params.reference, caller, visibleTo(caller))),
  })
  route(`PUT ${path}`, `replace${name}`, `Replace ${one}`, {
    ...changing,
    params,
    description: `Omitted fields get their defaults. ${changeText}`,
    body: jsonBody(sent, docs.example),
    handler: (request) =>
      definitions.change(folder, request.params.reference, request.body, 'default', termsOf(request)),
  })
  route(`PATCH ${path}`, `change${name}`, `Change some fields of ${one}`, {
    ...changing,
    params,
    description: changeText,
    body: jsonBody(change, docs.changeExample),
    handler: (request) =>
      definitions.change(folder, request.params.reference, request.body, 'stay', termsOf(request)),
  })
  route(`DELETE ${path}`, `delete${name}`, `Delete ${one}`, {
    access: docs.deletes ?? access,
    description: [texts.delete, isUsed && 'What is used cannot be deleted.'].filter(Boolean).join(' '),
    params,
    headers: ifMatch,
    ...(docs.hidesEntries && { query: z.object(hiding) }),
    ...(docs.confirms && { query: confirmation }),
    // What does not exist is reported before a missing confirmation.
    ...(docs.confirms && { unchecked: true }),
    responses: { 204: json(`The ${kind} is deleted.`) },
    errors: [400, 409, 412],
    handler: async (request) => {
      const { reference } = request.params as { reference: string }
      if (docs.confirms) {
        const { name } = definitions.find<Saved>(folder, reference, authorOf(request))
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
    handler: ({ params, caller }) => definitions.versions(folder, params.reference, caller),
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
