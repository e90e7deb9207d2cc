import { forbidden, sourceNotFound } from '../base/errors.ts'
import { closestName } from '../base/text/closest-name.ts'
import { namesOf } from '../catalog/items.ts'
import type { Source } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { refuseAudit } from './visibility.ts'

/** The rights of a caller to whole entries. See `callerWith`. */
export interface SourceReader {
  /** Only admins read the audit. */
  readonly isAdmin: boolean
  maySearch(source: string): boolean
  mayReadSource(source: { name: string; published: boolean }): boolean
}

/** Throws 403 before 404: without the scope, the response does not reveal which sources exist. */
export function readableSource(sources: Sources, name: string, reader: SourceReader): Source {
  const source = sources.named(name)
  const { name: ownName } = source ?? { name }
  if (!reader.maySearch(ownName)) throw forbidden(`This token may not read entries of source "${name}".`)
  refuseAudit(reader, { source: ownName })
  if (source && reader.mayReadSource(source)) return source
  const readable = sources.list().filter((each) => reader.mayReadSource(each))
  throw sourceNotFound(name, closestName(name, readable.flatMap(namesOf)))
}
