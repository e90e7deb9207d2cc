import { alike, answered, bodyErrors, inPath, jsonBody, listOf, reference } from './operation.ts'

const token = inPath('id', 'Id of the token.', '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11')
const tokenExample = { description: 'Dashboard', scopes: ['query:logs.all'], project: 'demo' }

export const tokenOperations = alike({ tag: 'Access tokens', access: 'admin' }, [
  {
    method: 'get',
    path: '/api/access-tokens',
    id: 'listAccessTokens',
    summary: 'List access tokens',
    answers: { 200: answered('Every token, without its secret.', listOf('AccessToken')) },
  },
  {
    method: 'post',
    path: '/api/access-tokens',
    id: 'createAccessToken',
    summary: 'Make an access token',
    body: jsonBody('AccessTokenFields', tokenExample),
    answers: { 201: answered('With its secret, this once.', reference('NewAccessToken'), ['Location']) },
    errors: bodyErrors,
  },
  {
    method: 'get',
    path: '/api/access-tokens/{id}',
    id: 'getAccessToken',
    summary: 'Show an access token',
    parameters: [token],
    answers: { 200: answered('The token, without its secret.', reference('AccessToken')) },
    errors: [404],
  },
  {
    method: 'put',
    path: '/api/access-tokens/{id}',
    id: 'replaceAccessToken',
    summary: 'Replace what an access token may',
    description: 'A field that is left out has its default again. The secret stays.',
    parameters: [token],
    body: jsonBody('AccessTokenFields', tokenExample),
    answers: { 200: answered('The token as it is now.', reference('AccessToken')) },
    errors: [...bodyErrors, 404, 412],
  },
  {
    method: 'patch',
    path: '/api/access-tokens/{id}',
    id: 'changeAccessToken',
    summary: 'Change some fields of an access token',
    description: 'The secret stays.',
    parameters: [token],
    body: jsonBody('AccessTokenChange', { requests_per_minute: 600 }),
    answers: { 200: answered('The token as it is now.', reference('AccessToken')) },
    errors: [...bodyErrors, 404, 412],
  },
  {
    method: 'delete',
    path: '/api/access-tokens/{id}',
    id: 'revokeAccessToken',
    summary: 'Revoke an access token',
    parameters: [token],
    answers: { 204: answered('It is not valid any more.') },
    errors: [404, 412],
  },
  {
    method: 'post',
    path: '/api/access-tokens/{id}/rotate',
    id: 'rotateAccessToken',
    summary: 'Give an access token a new secret',
    description: 'The old secret goes on working for a while.',
    parameters: [token],
    body: jsonBody('Rotation', { overlap_seconds: 3600 }, false),
    answers: { 200: answered('With its new secret, this once.', reference('NewAccessToken')) },
    errors: [...bodyErrors, 404, 412],
  },
])
