import { expect, test } from 'vitest'
import type { Operation } from './api-document.ts'
import { curlOf, exampleOf, fieldsOf } from './api-request.ts'

const operation: Operation = {
  operationId: 'call',
  method: 'POST',
  path: '/api/things/{name}',
  tags: [],
  summary: '',
  description: '',
  security: [{ apiKey: [] }],
  parameters: [
    { name: 'name', in: 'path', required: true, description: '', schema: {}, example: 'a/b' },
    { name: 'parameters', in: 'query', description: '', schema: {}, example: { q: "'; rm -rf ~; '" } },
    { name: 'limit', in: 'query', description: '', schema: {} },
  ],
  requestBody: { content: { 'application/json': { example: { text: "it's" } } } },
  responses: {},
}

test('writes a request that a shell sends as it is', () => {
  expect(curlOf(operation, exampleOf(operation), 'http://127.0.0.1:4000')).toBe(
    [
      "curl -X POST 'http://127.0.0.1:4000/api/things/a%2Fb?q=%27%3B+rm+-rf+%7E%3B+%27'",
      '-H "X-API-KEY: $WELLHEAD_TOKEN"',
      "-H 'Content-Type: application/json'",
      `-d '{"text":"it'\\''s"}'`,
    ].join(' \\\n  '),
  )
})

test('leaves the token out where it is optional, and fills what one parameter stands for', () => {
  const open = { ...operation, security: [{}, { apiKey: [] }] }
  expect(curlOf(open, exampleOf(open), '')).not.toContain('X-API-KEY')
  expect(fieldsOf(operation, exampleOf(operation)).map(({ name }) => name)).toEqual(['q', 'name', 'limit'])
})
