import type { FastifyReply, FastifyRequest } from 'fastify'
import { endpointNotFound } from '../../core/base/errors.ts'
import type { Call } from '../../core/endpoints/call/call.ts'
import type { EndpointCalls } from '../../core/endpoints/call/endpoint-calls.ts'
import type { Endpoints } from '../../core/endpoints/manage/endpoints.ts'
import { text } from '../../core/http/request-recorder.ts'
import type { EventStreams } from '../../core/http/streams/event-streams.ts'
import type { LiveResults } from './live-results.ts'

interface FollowParts {
  results: LiveResults
  streams: EventStreams
  endpoints: Pick<Endpoints, 'withId'>
  calls: Pick<EndpointCalls, 'follow'>
}

/** Streams a result and its changes. Errors in the request are reported before the stream begins. */
export async function followResult(
  { endpoints, calls, results, streams }: FollowParts,
  request: FastifyRequest,
  reply: FastifyReply,
  call: Call,
  isAllowed?: () => boolean,
): Promise<FastifyReply> {
  const { id, name } = call.endpoint.definition
  const before = endpoints.withId(id)
  streams.admit({ id: call.caller, project: call.project })
  const followed = calls.follow(call)
  const first = await results.first(followed)
  const now = endpoints.withId(id)
  if (now === undefined) throw endpointNotFound(name)
  const stream = streams.begin(request, reply, isAllowed)
  // The client decides how long the stream lasts, so its duration is not recorded.
  request.record = null
  // The endpoint changed meanwhile. A client that reconnects gets the new version.
  if (now !== before) stream?.end()
  else stream?.follow(results.subscribe(followed, first, stream, text(request.headers['last-event-id'])))
  return reply
}
