import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { urlRewriter } from './rewrite-url.ts'

const rewrite = urlRewriter({ private: 'secret', public: 'sénd' })

function rewritten(url: string, headers: Record<string, string> = {}) {
  const distinct = Object.entries(headers).map(([name, value]) => [name, [value]])
  const request = { url, headers: { ...headers }, headersDistinct: Object.fromEntries(distinct) }
  return [rewrite(request as unknown as IncomingMessage), request.headers['x-api-key']]
}

const bearer = { authorization: `Bearer ${Buffer.from('sénd').toString('latin1')}` }

test.each([
  ['/health', {}, '/ready', undefined],
  ['/logflare/health?api_key=secret&a=1', {}, '/ready?a=1', 'secret'],
  ['/logflare/logs?source=x', bearer, '/logs?source=x', 'sénd'],
  ['/api/logs?api_key=secret&source=x', {}, '/api/logs?source=x', 'secret'],
  ['/api/logs?api_key=other', {}, '/api/logs?api_key=other', undefined],
  ['/api/logs?api_key=secret&api_key=secret', {}, '/api/logs?api_key=secret&api_key=secret', undefined],
  ['/api/sources?api_key=secret', {}, '/api/sources?api_key=secret', undefined],
  ['/api/sources?a', { 'x-api-key': 'secret' }, '/logflare/api/sources?a', 'secret'],
  ['/api/sources', bearer, '/api/sources', 'sénd'],
  ['/api/endpoints/query/x', { authorization: 'Bearer token' }, '/api/endpoints/query/x', undefined],
  ['/logflare/api/sources?api_key=secret', {}, '/logflare/api/sources?', 'secret'],
])('leads %s with %j to %s', (url, headers, target, key) => {
  expect(rewritten(url, headers)).toEqual([target, key])
})
