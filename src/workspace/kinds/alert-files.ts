import { alertShape } from '../../alerts/alert.ts'
import { yamlKind } from './yaml-kind.ts'

export const alertFiles = yamlKind({
  folder: 'alerts',
  shape: alertShape,
  omitted: ['muted_until'],
  example: 'endpoint: usage.api-counts',
  prunes: true,
  isReserved: () => false,
  refersTo: ({ endpoint }) => [`endpoints/${endpoint}`],
  // The names of targets would be resolved.
  offline: (fields) => ({ ...fields, notify: [] }),
})
