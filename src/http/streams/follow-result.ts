import type { FastifyReply, FastifyRequest } from 'fastify'
import { endpointNotFound } from '../../base/errors.ts'
import type { EndpointCall, EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import type { LiveResults } from '../../live/live-results.ts'
import type { EventStreams } from './event-streams.ts'

export interface Following {
  endpoints: Pick<Endpoints, 'findById'>
  calls: Pick<EndpointCalls, 'follow'>
  results: LiveResults
  streams: EventStreams
}

/** Answers with a result and whatever it becomes. What can be wrong with the call is told before the stream begins. */
export async function followResult(
  { endpoints, calls, results, streams }: Following,
  request: FastifyRequest,
  reply: FastifyReply,
  call: EndpointCall,
): Promise<FastifyReply> {
  const { id, name } = call.endpoint.definition
  const before = endpoints.findById(id)
  streams.admit(call.caller)
  const followed = calls.follow(call)
  const first = await results.first(followed, call.signal, call.caller)
  const now = endpoints.findById(id)
  if (now === undefined) throw endpointNotFound(name)
  const stream = streams.begin(request, reply)
  // Its duration is as long as its reader likes: among those of calls it would say nothing.
  if (request.recorded) request.recorded.done = true
  const { 'last-event-id': last } = request.headers
  // The end of those who followed it before its change came too early for this one. Who connects again gets what it is now.
  if (now !== before) stream?.end()
  else stream?.follow(results.subscribe(followed, first, stream, typeof last === 'string' ? last : undefined))
  return reply
}
