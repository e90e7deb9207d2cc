import { alike, answered, reference } from './operation.ts'

const alive = { type: 'object', properties: { status: { const: 'alive' } }, required: ['status'] }

export const statusOperations = alike({ tag: 'State and description', access: 'public' }, [
  {
    method: 'get',
    path: '/health',
    id: 'getHealth',
    summary: 'Tell whether the process is alive',
    answers: { 200: answered('It is.', alive) },
  },
  {
    method: 'get',
    path: '/ready',
    id: 'getReadiness',
    summary: 'Tell whether calls and logs are served',
    answers: {
      200: answered('They are.', reference('Readiness')),
      503: answered('They are not.', reference('Readiness'), ['Retry-After']),
    },
  },
  {
    method: 'get',
    path: '/api/status',
    id: 'getStatus',
    access: 'admin',
    summary: 'Show versions and the state of the engine',
    answers: { 200: answered('The state.', reference('Status')) },
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'getMetrics',
    access: 'admin',
    summary: 'Tell metrics to Prometheus',
    description: 'With the setting `WELLHEAD_METRICS=open` it needs no token.',
    answers: {
      200: { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
    },
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'getDescription',
    access: 'optional',
    summary: 'Describe this interface',
    description: 'With a token, every endpoint that it may call has an operation of its own.',
    answers: { 200: answered('This document.', { type: 'object', additionalProperties: true }) },
  },
  {
    method: 'get',
    path: '/docs',
    id: 'getDocs',
    access: 'optional',
    summary: 'Describe this interface, as a page',
    answers: { 200: { description: 'A page.', content: { 'text/html': { schema: { type: 'string' } } } } },
  },
  {
    method: 'get',
    path: '/docs/style.css',
    id: 'getDocsStyle',
    summary: 'The look of that page',
    answers: { 200: { description: 'CSS.', content: { 'text/css': { schema: { type: 'string' } } } } },
  },
])
