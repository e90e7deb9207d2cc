import { hasFeature } from '../api/features.ts'

/** Kinds whose versions can be compared, their folder, and the field with their SQL. */
const kinds: Record<string, readonly [folder: string, sql?: string]> = {
  endpoint: ['endpoints', 'query'],
  source: ['sources'],
  alert: ['alerts'],
  dashboard: ['dashboards'],
  table: ['tables'],
  plan: ['plans'],
}

/** Where the versions of an action's target are; undefined if there are none to read. Folders have the names of features. */
export function versionedKind(action: string, has = hasFeature) {
  const [kind = '', verb] = action.split('.')
  const found = kinds[kind]
  // Versions of what was deleted are not kept.
  if (!found || (verb !== 'create' && verb !== 'update')) return undefined
  return kind === 'endpoint' || has(found[0]) ? found : undefined
}
