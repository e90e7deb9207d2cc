import fastify from 'fastify'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { handleError } from '../error-response.ts'
import { json, routesOf } from './route.ts'

const params = z.object({ count: z.string().regex(/^\d+$/, 'must be a whole number').transform(Number) })
const query = z.object({ text: z.string('was sent twice').optional() })

function serverWith(unchecked: boolean) {
  const server = fastify()
  server.setErrorHandler(handleError)
  const route = routesOf(server, { tag: 'Exploring', access: 'public' })
  const responses = { 201: json('Created.') }
  const handler = async (request: { params: object; query: object }) => ({
    ...request.params,
    ...request.query,
  })
  route('PUT /things/:count', 'putThings', 'Put things', { params, query, responses, unchecked, handler })
  return server
}

test('passes checked parameters to the handler, and responds with the documented status', async () => {
  const response = await serverWith(false).inject({ method: 'PUT', url: '/things/7?text=a&other=b' })
  expect([response.statusCode, response.json()]).toEqual([201, { count: 7, text: 'a' }])
})

test.each([
  ['/things/x', 'count', 'count must be a whole number.'],
  ['/things/7?text=a&text=b', 'text', 'text was sent twice.'],
])('refuses %s', async (url, parameter, message) => {
  const response = await serverWith(false).inject({ method: 'PUT', url })
  expect(response.statusCode).toBe(400)
  expect(response.json().error).toMatchObject({ code: 'invalid_parameter', parameter, message })
})

test('leaves parameters to the handler of an unchecked route', async () => {
  const response = await serverWith(true).inject({ method: 'PUT', url: '/things/x' })
  expect([response.statusCode, response.json()]).toEqual([201, { count: 'x' }])
})
