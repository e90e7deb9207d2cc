import type { RunningService } from './service.ts'

export interface JsonResponse {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: response bodies have many shapes.
  body: any
}

/** Sends a request and reads the response. An undefined token sends none. */
export async function ask(
  service: Pick<RunningService, 'url'>,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<JsonResponse> {
  const response = await fetch(service.url + path, {
    method,
    headers: {
      ...(token !== undefined && { 'X-API-KEY': token }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== ''
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

export interface MadeToken {
  id: string
  token: string
}

export async function makeToken(
  service: RunningService,
  fields: Record<string, unknown>,
): Promise<MadeToken> {
  const made = await ask(service, service.adminToken.token, 'POST', '/api/access-tokens', fields)
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return made.body as MadeToken
}
