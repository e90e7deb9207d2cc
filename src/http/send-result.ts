import type { FastifyReply, FastifyRequest } from 'fastify'
import { compressedNow, isCompressible } from '../base/compressed.ts'
import type { CallResponse } from '../endpoints/call/endpoint-calls.ts'
import { cacheHeaders, chooseCoding, matchedEtag, resultVary } from './cache-headers.ts'

export async function sendResult(
  request: FastifyRequest,
  reply: FastifyReply,
  response: CallResponse,
  since: number,
): Promise<FastifyReply> {
  const coding = chooseCoding(request.headers['accept-encoding'])
  if (!('policy' in response)) {
    const { body, contentType, truncated, queueMs, engineMs } = response.result
    const isCompressed = coding !== 'identity' && isCompressible(contentType, body)
    const compressed = isCompressed ? await compressedNow(coding, body) : undefined
    if (compressed) reply.header('Content-Encoding', coding)
    if (truncated) reply.header('Wellhead-Truncated', 'true')
    reply.header('Cache-Control', 'private, no-store')
    reply.header('Cache-Status', 'Wellhead; fwd=bypass')
    reply.header('Vary', resultVary)
    reply.header('Server-Timing', timing(queueMs, engineMs, since))
    addFigures(request, reply, response.result)
    return reply.type(contentType).send(compressed ?? body)
  }
  const { result, outcome } = response
  const isComputed = outcome.kind === 'computed'
  const form = isComputed ? await result.made(coding) : result.form(coding)
  reply.headers(cacheHeaders(response, form.etag))
  if (result.truncated) reply.header('Wellhead-Truncated', 'true')
  const waited = isComputed && !outcome.joined
  reply.header(
    'Server-Timing',
    waited ? timing(result.queueMs, result.engineMs, since) : `total;dur=${elapsed(since)}`,
  )
  if (waited) addFigures(request, reply, result)
  const etag = matchedEtag(request.headers['if-none-match'], [form.etag, ...result.etags])
  if (etag !== undefined) return reply.code(304).header('ETag', etag).send()
  if (form.coding !== 'identity') reply.header('Content-Encoding', form.coding)
  return reply.type(result.contentType).send(form.body)
}

/** What the engine read for this response. The figures depend on rows of other tenants, so only admins get them. */
function addFigures(
  { caller }: FastifyRequest,
  reply: FastifyReply,
  { rowsRead, bytesRead }: { rowsRead: number | undefined; bytesRead: number | undefined },
): void {
  if (!caller?.isAdmin) return
  if (rowsRead !== undefined) reply.header('Wellhead-Read-Rows', String(rowsRead))
  if (bytesRead !== undefined) reply.header('Wellhead-Read-Bytes', String(bytesRead))
}

function timing(queueMs: number, engineMs: number, since: number): string {
  return `queue;dur=${queueMs.toFixed(2)}, engine;dur=${engineMs.toFixed(2)}, total;dur=${elapsed(since)}`
}

function elapsed(since: number): string {
  return (performance.now() - since).toFixed(2)
}
