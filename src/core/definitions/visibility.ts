import { forbidden, type WellheadError } from '../base/errors.ts'
import { auditSource } from '../catalog/reserved-sources.ts'
import { queryOf } from '../sql/query.ts'
import type { Kind, Saved } from './kind.ts'

/** Who reads or changes something. Text: the service itself. Undefined: nobody that is known. */
export type Reader = { readonly isAdmin: boolean } | string | undefined

/** SQL, or the name of a source. Both count, because it can be what a caller sent. */
export type Readable = { readonly query?: unknown; readonly source?: unknown }

/** The only place that decides who reads the audit: admins, and the service itself. */
export function mayRead(reader: Reader, what: Readable): boolean {
  return typeof reader === 'string' || reader?.isAdmin === true || !isAudit(what)
}

export function refuseAudit(reader: Reader, what: Readable): void {
  if (!mayRead(reader, what)) throw auditRefused()
}

export function auditRefused(): WellheadError {
  return forbidden(`Only admins can read ${auditSource}, and see and change what reads it.`)
}

/** What a definition refers to shows in it: the value of an alert, the columns of a dashboard. */
export function mayReadItem(reader: Reader, kinds: readonly Kind[], kind: Kind, item: Saved): boolean {
  if (kind.reads) return mayRead(reader, kind.reads(kind.fieldsOf(item)))
  return Object.entries(kind.refersTo).every(([folder, references]) => {
    const used = kinds.find((each) => each.folder === folder) as Kind
    return references(kind.fieldsOf(item)).every((reference) => {
      const found = used.items.find(reference)
      return !found || mayReadItem(reader, kinds, used, found)
    })
  })
}

/** How somebody who changes what a definition uses is told about it. */
export function shownName(reader: Reader, kinds: readonly Kind[], kind: Kind, item: Saved): string {
  return `${kind.folder}/${mayReadItem(reader, kinds, kind, item) ? item.name : '(visible to admins only)'}`
}

const known = new WeakMap<Readable, boolean>()

/** In a sandbox, callers can read what the query itself does not use, so every name in it counts. */
function isAudit(what: Readable): boolean {
  const found = known.get(what) ?? (what.source === auditSource || namesAudit(what.query))
  known.set(what, found)
  return found
}

function namesAudit(query: unknown): boolean {
  // Most queries do not, so that their tokens need not be read.
  return (
    typeof query === 'string' &&
    query.includes(auditSource) &&
    queryOf(query).possibleSources.has(auditSource)
  )
}
