import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { unsupportedMediaType } from '../../../base/errors.ts'
import { overLimitReason } from '../../../intake/admission.ts'
import type { LogIntake } from '../../../intake/log-intake.ts'
import { encodeOtlpError, encodeOtlpResponse, type OtlpEncoding } from '../../../intake/otlp/otlp.ts'
import { setErrorHeaders, toKnownError } from '../../error-response.ts'
import { text } from '../../request-recorder.ts'
import { routesOf } from '../route.ts'
import { idempotencyKey, receiveBodiesAsStreams, sendErrors, uploadOf } from './logs.ts'

const protobuf = { 'application/x-protobuf': {} }
const partialSuccess = z
  .object({ rejectedLogRecords: z.string().optional(), errorMessage: z.string().optional() })
  .optional()
const contentTypes = { protobuf: 'application/x-protobuf', json: 'application/json' } as const

/** OpenTelemetry's protocol over HTTP, which has its own success and error responses. */
export function addOtlpRoutes(server: FastifyInstance, { intake }: { intake: LogIntake }): void {
  server.register(async (scope) => {
    receiveBodiesAsStreams(scope)
    scope.setErrorHandler((error: Error, request, reply) => {
      const known = toKnownError(error, request)
      setErrorHeaders(known, error, request, reply)
      const encoding = encodingOf(request) ?? 'json'
      return reply
        .code(known.status)
        .type(contentTypes[encoding])
        .send(encodeOtlpError(encoding, known.message))
    })
    const route = routesOf(scope, { tag: 'Sending logs', access: 'ingest' })
    route('POST /v1/logs', 'sendOtlpLogs', 'Send OpenTelemetry log records', {
      description: 'OTLP/HTTP: an ExportLogsServiceRequest as protobuf or JSON, also with `gzip`.',
      headers: z.object({
        'X-Wellhead-Source': z.string().optional().describe('For records without `wellhead.source`.'),
        ...idempotencyKey.shape,
      }),
      body: {
        required: true,
        content: {
          'application/json': { schema: z.record(z.string(), z.unknown()), example: { resourceLogs: [] } },
          ...protobuf,
        },
      },
      responses: {
        200: {
          description: 'An ExportLogsServiceResponse. All records are on disk except the rejected ones.',
          content: { 'application/json': { schema: z.object({ partialSuccess }) }, ...protobuf },
        },
      },
      errors: sendErrors,
      errorResponse: {
        description: 'A google.rpc.Status.',
        content: {
          'application/json': { schema: z.object({ message: z.string().optional() }) },
          ...protobuf,
        },
      },
      handler: async (request, reply) => {
        const encoding = encodingOf(request)
        if (!encoding) {
          throw unsupportedMediaType('Send OTLP as application/x-protobuf or application/json.')
        }
        const defaultSource = text(request.headers['x-wellhead-source']) || undefined
        const received = await intake.receiveOtlp(uploadOf(request), encoding, defaultSource)
        const rejected = received.reduce((count, outcome) => count + outcome.rejected, 0)
        const reasons = received.flatMap(({ errors }) => errors.map(({ reason }) => reason))
        const [first = ''] = reasons
        const isOther = first !== overLimitReason && reasons.includes(overLimitReason)
        const reason = isOther ? `${first}; ${overLimitReason}` : first
        return reply.type(contentTypes[encoding]).send(encodeOtlpResponse(encoding, rejected, reason))
      },
    })
  })
}

function encodingOf(request: FastifyRequest): OtlpEncoding | undefined {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-protobuf' || type === 'application/protobuf') return 'protobuf'
  return type === 'application/json' ? 'json' : undefined
}
