import type { SourceDeclaration } from '../../core/catalog/built-in-sources.ts'

/** Holds requests to endpoints. */
export const callsSource = {
  name: 'endpoint_requests',
  description: 'Requests to endpoints: caller, outcome and cost. Written by the service.',
  retention_days: 30,
  columns: [
    { name: 'endpoint', path: 'endpoint', type: 'text' },
    { name: 'token_id', path: 'token_id', type: 'text' },
    { name: 'status', path: 'status', type: 'number' },
    { name: 'cache', path: 'cache', type: 'text' },
    { name: 'calls', path: 'calls', type: 'number' },
    { name: 'total_ms', path: 'total_ms', type: 'number' },
    { name: 'engine_ms', path: 'engine_ms', type: 'number' },
    { name: 'bytes', path: 'bytes', type: 'number' },
  ],
} satisfies SourceDeclaration
