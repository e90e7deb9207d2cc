import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Caller, readableProject } from '../../core/access/caller.ts'
import type { Source } from '../../core/catalog/source.ts'
import { eventHeaders, eventStream } from '../../core/http/openapi/call.ts'
import { text } from '../../core/http/request-recorder.ts'
import { routesOf } from '../../core/http/routes/route.ts'
import { sourceName } from '../../core/http/routes/source-shapes.ts'
import type { EventStreams } from '../../core/http/streams/event-streams.ts'
import { entryMatch } from '../../core/search/condition-match.ts'
import { readQuery } from '../../core/search/parse-query.ts'
import type { SourceInfo } from '../sources/index.ts'
import type { EntryQuery } from './live-group.ts'
import type { LiveTail } from './live-tail.ts'

/** Each is checked for every new entry, in the event loop. */
const maxConditions = 20
const once = z.string('was sent twice')

export function addTailRoutes(
  server: FastifyInstance,
  { sources, tail, streams }: { sources: SourceInfo; tail: LiveTail; streams: EventStreams },
): void {
  const route = routesOf(server, { tag: 'Sources', access: 'search' })
  route('GET /api/sources/:name/tail', 'tailSource', 'Follow the entries of a source', {
    description:
      'A stream of events that stays open: `entry` for each new entry, `missed` with the number of entries that the ' +
      'client was too slow to read, `reset` if that number is unknown.',
    params: sourceName,
    query: z.object({
      project: once.optional().describe('Only entries of this project.'),
      query: once.optional().describe('A search such as `status:>=500 timeout`, at most 20 conditions.'),
    }),
    headers: z.object({
      'Last-Event-ID': z.string().optional().describe('Id of the last event that was read.'),
    }),
    responses: { 200: { description: 'New entries.', headers: eventHeaders, content: eventStream } },
    errors: [400],
    handler: async (request, reply) => {
      const { project: wanted, query } = request.query
      const caller = request.caller as Caller
      const project = readableProject(caller, wanted)
      const source = sources.get(request.params.name, caller)
      const wantedEntries = query === undefined ? undefined : entryQuery(query, source)
      const stream = streams.begin(request, reply, sources.watch(source, caller))
      if (stream === undefined) return reply
      const { id, project: own = '' } = stream.owner
      const { retentionDays } = caller
      const filter = { caller: `${id} ${own}`, project, retentionDays, query: wantedEntries }
      stream.follow(tail.subscribe(source.name, filter, stream, text(request.headers['last-event-id'])))
      return reply
    },
  })
}

function entryQuery(query: string, { columns, version }: Source): EntryQuery {
  // Another version of the source may read the same query from other columns.
  return { key: `${version} ${query}`, ...entryMatch(readQuery(query, columns, maxConditions)) }
}
