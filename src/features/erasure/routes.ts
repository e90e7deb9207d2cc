import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { authorOf, changedBy } from '../../core/http/routes/management.ts'
import { json, jsonBody, routesOf } from '../../core/http/routes/route.ts'
import type { Audit } from '../audit/index.ts'
import { type Erasure, erasureShape } from './erasure.ts'
import { type Erasures, maxListed } from './erasures.ts'

const erasure = z.object({
  id: z.uuid().nullable().describe('Null for a dry run.'),
  project: z.string().describe('The project whose entries are erased.'),
  source: z.string().nullable().describe('Null: all sources.'),
  from: z.iso.datetime({ offset: true }).nullable().describe('Null: no start.'),
  to: z.iso
    .datetime({ offset: true })
    .describe(
      'Entries before this time are erased, if they were acknowledged before the erasure was accepted. Unless it was sent, it is ' +
        'later than all of these.',
    ),
  ids: z.array(z.string()).nullable().describe('Null: all entries.'),
  state: z.enum(['running', 'done']).nullable().describe('Null for a dry run.'),
  entries: z.int().describe('Entries that were found when it began.'),
  created_at: z.iso.datetime().nullable().describe('When it began.'),
  done_at: z.iso.datetime().nullable().describe('When no entry was left.'),
  backups_before: z.iso
    .datetime()
    .nullable()
    .describe(
      'Backups taken before this time still contain the entries. Null while it runs: all of them may.',
    ),
})

/** Names in the OpenAPI document. */
const components = { input: { NewErasure: erasureShape }, output: { Erasure: erasure } }

export function addErasureRoutes(
  server: FastifyInstance,
  { erasures, audit }: { erasures: Erasures; audit: Pick<Audit, 'write'> },
): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Projects', access: 'admin' })
  route('POST /api/erasures', 'eraseEntries', 'Erase entries of a project', {
    description:
      'Erases what was acknowledged before the erasure was accepted; later entries stay. Hides the entries at once, then removes ' +
      'them from the disk, from caches, live streams, the quarantine and idempotency keys. It continues after a crash. A dry run ' +
      'responds with 200 and the number of entries.',
    body: jsonBody(erasureShape, { project: 'demo', dry_run: true }),
    responses: { 202: json('The erasure has begun.', erasure), 200: json('A dry run.', erasure) },
    errors: [400, 404, 429],
    handler: async (request, reply) => {
      const { dry_run, rows } = erasures.read(request.body)
      if (dry_run) {
        const counted = await erasures.count(rows)
        return erasure.parse({ id: null, ...rows, ...counted, state: null, ...noTimes })
      }
      const note = (begun: Erasure) =>
        `erasure ${begun.id}: ${begun.entries} entries of ${begun.source ?? 'all sources'}`
      const begun = await erasures.begin(rows, changedBy(request), (each) =>
        audit.write('erasure.create', each.project, authorOf(request), note(each)),
      )
      reply.code(202)
      return view(begun)
    },
  })
  route('GET /api/erasures', 'listErasures', 'List erasures', {
    description: `The newest ${maxListed}.`,
    responses: { 200: json('Erasures, newest first.', z.array(erasure)) },
    handler: async () => erasures.list().map(view),
  })
  route('GET /api/erasures/:id', 'getErasure', 'Show an erasure', {
    params: z.object({
      id: z.string().meta({
        description: 'Id of the erasure.',
        example: '0198a3f0-8c1e-7b3a-9d2f-4f6f0f6c2b11',
      }),
    }),
    responses: { 200: json('The erasure.', erasure) },
    handler: async ({ params }) => view(erasures.get(params.id)),
  })
}

const noTimes = { created_at: null, done_at: null, backups_before: null }

function view(begun: Erasure) {
  const state = begun.done_at === null ? 'running' : 'done'
  return erasure.parse({ ...begun, state, backups_before: begun.done_at })
}
