import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import type { NewSession } from '../../../access/sessions.ts'
import {
  rotationShape,
  sessionShape,
  type TokenFields,
  tokenChangeShape,
  tokenShape,
} from '../../../access/token.ts'
import type { TokenAdmin, TokenView } from '../../../access/token-admin.ts'
import type { FieldShapes } from '../../../base/validation.ts'
import { tokenOf } from '../../route-access.ts'
import { authorOf } from '../management.ts'
import { json, jsonBody, routesOf } from '../route.ts'

const view: FieldShapes<Omit<TokenView, keyof TokenFields>> = {
  id: z.uuid().describe('Identifies the token. Not secret.'),
  created_at: z.iso.datetime().describe('When the token was created.'),
  created_by: z.string().nullable().describe('Id of the person or token that created it. Null: unknown.'),
  created_by_name: z.string().nullable().describe('Their name. Null: unknown.'),
  last_used_from: z
    .string()
    .nullable()
    .describe('Address of the last request, without its port. Null: unknown.'),
  updated_at: z.iso.datetime().describe('When the token was last changed.'),
  last_used_at: z.iso.datetime().nullable().describe('When the token was last used. Null: never.'),
  previous_valid_until: z.iso.datetime().nullable().describe('Until when the rotated secret stays valid.'),
}
const secret = z.string().describe('The secret. It is shown only once.')
const tokenView = { ...tokenShape.shape, ...view }

const accessToken = z.object(tokenView)
const newAccessToken = z.object({ ...tokenView, token: secret })
const newSession = z.object<FieldShapes<NewSession>>({
  token: z.string().describe('The token of the session. It is shown only once.'),
  expires_at: z.iso.datetime().describe('When the session ends.'),
  token_id: z.string().describe('Id of the token that the session belongs to.'),
  scopes: z.array(z.string()).readonly().describe('What the session allows.'),
  project: z.string().nullable().describe('The project that the session is limited to.'),
  parameters: z.record(z.string(), z.string()).describe('Values of parameters that callers cannot choose.'),
})

/** Names in the OpenAPI document. */
const components = {
  input: {
    AccessTokenFields: tokenShape,
    AccessTokenChange: tokenChangeShape,
    Rotation: rotationShape,
    SessionFields: sessionShape,
  },
  output: { AccessToken: accessToken, NewAccessToken: newAccessToken, NewSession: newSession },
}

const params = z.object({
  id: z.string().meta({ description: 'Id of the token.', example: '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11' }),
})
const example = { description: 'Dashboard', scopes: ['query:logs.all'], project: 'demo' }
const changing = {
  params,
  responses: { 200: json('The token after the change.', accessToken) },
  errors: [412],
}

export function addTokenRoutes(server: FastifyInstance, { tokens }: { tokens: TokenAdmin }): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Access tokens', access: 'admin' })
  const path = '/api/access-tokens/:id'
  route('GET /api/access-tokens', 'listAccessTokens', 'List access tokens', {
    responses: { 200: json('All tokens, without their secrets.', z.array(accessToken)) },
    handler: async () => tokens.list(),
  })
  route('POST /api/access-tokens', 'createAccessToken', 'Create an access token', {
    body: jsonBody(tokenShape, example),
    responses: { 201: json('The token with its secret.', newAccessToken, ['Location']) },
    handler: async (request) => tokens.create(request.body, authorOf(request)),
  })
  route(`GET ${path}`, 'getAccessToken', 'Show an access token', {
    params,
    responses: { 200: json('The token, without its secret.', accessToken) },
    handler: async ({ params }) => tokens.get(params.id),
  })
  route(`PUT ${path}`, 'replaceAccessToken', "Replace a token's permissions", {
    description: 'Omitted fields get their defaults. The secret stays the same.',
    ...changing,
    body: jsonBody(tokenShape, example),
    handler: async (request) => tokens.change(request.params.id, request.body, authorOf(request), true),
  })
  route(`PATCH ${path}`, 'changeAccessToken', 'Change some fields of an access token', {
    description: 'The secret stays the same.',
    ...changing,
    body: jsonBody(tokenChangeShape, { requests_per_minute: 600 }),
    handler: async (request) => tokens.change(request.params.id, request.body, authorOf(request), false),
  })
  route(`DELETE ${path}`, 'revokeAccessToken', 'Revoke an access token', {
    params,
    responses: { 204: json('The token is revoked.') },
    errors: [412],
    handler: async (request) => tokens.revoke(request.params.id, authorOf(request)),
  })
  route(`POST ${path}/rotate`, 'rotateAccessToken', 'Rotate the secret of an access token', {
    description: 'The old secret keeps working for `overlap_seconds`.',
    params,
    body: jsonBody(rotationShape, { overlap_seconds: 3600 }, false),
    responses: { 200: json('The token with its new secret, which is shown only once.', newAccessToken) },
    errors: [412],
    handler: async (request) => tokens.rotate(request.params.id, request.body, authorOf(request)),
  })
  route(`POST ${path}/session`, 'createSession', 'Create a session of an access token', {
    description:
      'A session is a short-lived token with the rights of its token or fewer, for browsers. It ends with its token. ' +
      'Every token can create sessions of itself with the id `self`; sessions of other tokens require the scope `admin`.',
    access: 'any',
    params,
    body: jsonBody(sessionShape, { minutes: 15, project: 'demo' }, false),
    responses: { 201: json('The session with its token, which is shown only once.', newSession) },
    errors: [403],
    handler: async (request) => {
      const { params, body, caller } = request
      return tokens.createSession(params.id, body, caller as Caller, tokenOf(request) ?? '')
    },
  })
}
