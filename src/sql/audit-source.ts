import { possibleSources } from './tokens.ts'

/** Holds who changed what. Only the service writes to it, and only admins read it. */
export const auditSource = 'audit_events'

export const auditRefusal = `Only admins can read ${auditSource}.`

const known = new WeakMap<object, boolean>()

/** Whether a query may read the audit. In a sandbox, callers can read what the query itself does not use. */
export function readsAudit(definition: { query: string }): boolean {
  const found = known.get(definition) ?? namesAudit(definition.query)
  known.set(definition, found)
  return found
}

export function namesAudit(query: unknown): boolean {
  if (typeof query !== 'string') return false
  // A quoted name can have escapes.
  if (!query.includes(auditSource) && !query.includes('\\')) return false
  return possibleSources(query).has(auditSource)
}
