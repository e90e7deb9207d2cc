import { z } from 'zod'
import { keysOf, pathOf } from '../shared/path-text.ts'

const key = /^[\p{L}\p{N}_@$][\p{L}\p{N}_.:@$/-]{0,199}$/u
const sentence =
  'must be keys with dots between them, such as request.path. A key that has dots itself is in quotes, as in attributes."http.route"'

/** A path of `metadata`, in the form in which paths are stored. */
export const metadataPath = z
  .string()
  .max(500)
  .overwrite((path) => pathOf(keysOf(path)))
  .refine((path) => keysOf(path).every((each) => key.test(each)), sentence)

const quoted = /(?<![^.])"(?:[^"\\]|\\.)+"(?![^.])/gs

/** One that no SQL contains, as it was written: a key in quotes may have any characters. */
export const anyPath = z
  .string()
  .max(500, 'must have at most 500 characters')
  .refine((path) => keysOf(path.replace(quoted, 'quoted')).every((each) => key.test(each)), sentence)

/** Where a path may begin with `metadata.`, and does not mean a field of the entry itself. */
export const ownFields = /^metadata\.(?!(?:project|id|event_message|message|timestamp)$)/
