import type { JsonSchema } from '../../base/validation.ts'

const onlyAdmins = 'Only for tokens with the scope `admin`.'
const onlyLimited = 'Only for tokens with a limit.'

export const headerComponents = {
  Age: header('Seconds since the result was computed.', 'integer'),
  'Cache-Control': header('How long the caller can reuse the response.'),
  'Cache-Status': header('Where the result came from (RFC 9211).'),
  'Content-Disposition': header('Suggests a file name.'),
  'Content-Security-Policy': header('What the page can load.'),
  'Cross-Origin-Resource-Policy': header('Which sites can load the file.'),
  ETag: header('Version of the response.'),
  'Idempotency-Replayed': header('`true` if an earlier request with the same key stored the entries.'),
  Location: header('Path of the new resource.'),
  RateLimit: header(`Requests left, and seconds until there are more. ${onlyLimited}`),
  'RateLimit-Policy': header(`Limit of requests per minute. ${onlyLimited}`),
  'Referrer-Policy': header('The page does not pass its address on.'),
  'Retry-After': header('Seconds to wait before the next attempt.', 'integer'),
  'Server-Timing': header('Time spent, in milliseconds.'),
  Vary: header('Request headers that the response depends on.'),
  'WWW-Authenticate': header('How to send a token, and what is wrong with the one that was sent.'),
  'Wellhead-Export-Limit': header('Maximum number of entries in the response.', 'integer'),
  'Wellhead-Next': header(
    'Where the next page begins: the field `next` of its request. Absent on the last page.',
  ),
  'Wellhead-Read-Bytes': header(`Bytes that the engine read. ${onlyAdmins}`, 'integer'),
  'Wellhead-Read-Rows': header(`Rows that the engine read. ${onlyAdmins}`, 'integer'),
  'Wellhead-Searched-Since': header('Only entries since this time were read within the time limit.'),
  'Wellhead-Truncated': header('`true` if the result was cut at the maximum number of rows.'),
  'Wellhead-Version': header('Version of the endpoint.', 'integer'),
  'Wellhead-Without-Project': header('Number of entries that no tenant can see. Absent if none.', 'integer'),
  'X-Accel-Buffering': header('`no`: proxies pass events on at once.'),
  'X-Content-Type-Options': header('`nosniff`: browsers do not guess the content type.'),
  'X-Frame-Options': header('Other sites cannot show the page in a frame.'),
  'X-RateLimit-Limit': header(`Requests per minute. ${onlyLimited}`, 'integer'),
  'X-RateLimit-Remaining': header(`Requests left in this minute. ${onlyLimited}`, 'integer'),
  'X-RateLimit-Reset': header(`Seconds until more requests are allowed. ${onlyLimited}`, 'integer'),
  'X-Request-Id': header('Id of the request in the log of the service.'),
}

export type HeaderName = keyof typeof headerComponents

const everywhere = ['Cache-Control', 'Vary', 'X-Content-Type-Options', 'X-Request-Id'] as const
const withToken = (Object.keys(headerComponents) as HeaderName[]).filter((name) => name.includes('RateLimit'))

export function headersOf(names: readonly string[], hasToken: boolean): JsonSchema {
  const all = new Set<string>([...names, ...everywhere, ...(hasToken ? withToken : [])])
  return Object.fromEntries([...all].map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

export function header(description: string, type = 'string'): JsonSchema {
  return { description, schema: { type } }
}
