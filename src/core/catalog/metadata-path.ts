import { z } from 'zod'
import { isColumnPath } from '../../shared/column-names.ts'
import { keysOf, pathOf } from '../../shared/path-text.ts'

const sentence =
  'must be keys with dots between them, such as request.path. A key that has dots itself is in quotes, as in attributes."http.route"'

/** A path of `metadata`, in the form in which paths are stored. */
export const metadataPath = z
  .string()
  .max(500)
  .overwrite((path) => pathOf(keysOf(path)))
  .refine(isColumnPath, sentence)

const quoted = /(?<![^.])"(?:[^"\\]|\\.)+"(?![^.])/gs

/** One that no SQL contains, as it was written: a key in quotes may have any characters. */
export const anyPath = z
  .string()
  .max(500, 'must have at most 500 characters')
  .refine((path) => isColumnPath(path.replace(quoted, 'quoted')), sentence)

/** Where a path may begin with `metadata.`, and does not mean a field of the entry itself. */
export const ownFields = /^metadata\.(?!(?:project|id|event_message|message|timestamp)$)/
