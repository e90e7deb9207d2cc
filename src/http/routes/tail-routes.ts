import type { FastifyInstance } from 'fastify'
import { type Caller, withFixedParameters } from '../../access/caller.ts'
import { forbidden, invalidParameter } from '../../base/errors.ts'
import type { LiveTail } from '../../live/live-tail.ts'
import type { SourceAdmin } from '../../sources/source-admin.ts'
import type { EventStreams } from '../streams/event-streams.ts'

export interface TailRoutes {
  sources: Pick<SourceAdmin, 'get'>
  tail: LiveTail
  streams: EventStreams
}

type Named = { Params: { name: string } }

const maxTextLength = 1_000

/** The entries of a source as they are stored. */
export function addTailRoutes(server: FastifyInstance, { sources, tail, streams }: TailRoutes): void {
  server.get<Named>('/api/sources/:name/tail', { config: { access: 'query' } }, async (request, reply) => {
    const caller = request.caller as Caller
    // Endpoints decide what a token without a project gets to see; here nothing would.
    if (!caller.isAdmin && (caller.project === undefined || !caller.mayQuery(''))) {
      throw forbidden('This needs a token with the scope admin, or with a project and the scope query.')
    }
    const { name } = sources.get(request.params.name)
    const sent = readFilter(request.url)
    const { project } = withFixedParameters(
      caller,
      sent.project === undefined ? {} : { project: sent.project },
    )
    const stream = streams.begin(request, reply)
    if (stream === undefined) return reply
    const { 'last-event-id': last } = request.headers
    const filter = { project, text: sent.text }
    stream.follow(tail.subscribe(name, filter, stream, typeof last === 'string' ? last : undefined))
    return reply
  })
}

function readFilter(url: string): { project: string | undefined; text: string | undefined } {
  const at = url.indexOf('?')
  const sent = new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
  const one = (name: string) => {
    const [value, ...more] = sent.getAll(name)
    if (more.length > 0) throw invalidParameter(name, `${name} was sent twice.`)
    return value
  }
  const text = one('text')
  if (text !== undefined && text.length > maxTextLength) {
    throw invalidParameter('text', `text must be at most ${maxTextLength} characters long.`)
  }
  return { project: one('project'), text }
}
