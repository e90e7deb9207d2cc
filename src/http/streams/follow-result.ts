import type { FastifyReply, FastifyRequest } from 'fastify'
import { endpointNotFound } from '../../base/errors.ts'
import type { EndpointCall, EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import type { LiveResults } from '../../live/live-results.ts'
import type { EventStreams } from './event-streams.ts'

interface FollowOptions {
  endpoints: Pick<Endpoints, 'findById'>
  calls: Pick<EndpointCalls, 'follow'>
  results: LiveResults
  streams: EventStreams
}

/** Streams a result and its changes. Errors in the request are reported before the stream begins. */
export async function followResult(
  { endpoints, calls, results, streams }: FollowOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  call: EndpointCall,
): Promise<FastifyReply> {
  const { id, name } = call.endpoint.definition
  const before = endpoints.findById(id)
  streams.admit({ id: call.caller, project: call.project })
  const followed = calls.follow(call)
  const first = await results.first(followed, call.signal, call.caller)
  const now = endpoints.findById(id)
  if (now === undefined) throw endpointNotFound(name)
  const stream = streams.begin(request, reply)
  // The client decides how long the stream lasts, so its duration is not recorded.
  if (request.recorded) request.recorded.done = true
  const { 'last-event-id': last } = request.headers
  // The endpoint changed meanwhile. A client that reconnects gets the new version.
  if (now !== before) stream?.end()
  else stream?.follow(results.subscribe(followed, first, stream, typeof last === 'string' ? last : undefined))
  return reply
}
